/** Form fields that several sections use. */
import { html, noChange, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';

export interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly title?: string;
  readonly disabled?: boolean;
}

/** One of a few values, side by side: radio buttons, so that arrow keys and screen readers work as they know. */
export function segments<T extends string>(options: {
  /** Unique within the lens. */
  readonly name: string;
  readonly label: string;
  /** Show the label, or only say it. */
  readonly showLabel?: boolean;
  readonly choices: readonly Choice<T>[];
  readonly value: T | null;
  readonly choose: (value: T) => void;
}): TemplateResult {
  const { name, label, choices, value, choose } = options;
  return html`
    <fieldset class="segments">
      <legend class=${options.showLabel ? '' : 'unseen'}>${label}</legend>
      <div>
        ${choices.map(
          (choice) => html`
            <label title=${choice.title ?? nothing}>
              <input
                type="radio"
                name=${name}
                value=${choice.value}
                .checked=${live(choice.value === value)}
                ?disabled=${choice.disabled ?? false}
                @change=${() => choose(choice.value)}
              /><span>${choice.label}</span>
            </label>
          `,
        )}
      </div>
    </fieldset>
  `;
}

/** One of several values in a list that opens. */
export function choiceList<T extends string>(options: {
  readonly label: string;
  readonly choices: readonly Choice<T>[];
  readonly value: T;
  readonly choose: (value: T) => void;
}): TemplateResult {
  const { label, choices, value, choose } = options;
  const take = (event: Event) => {
    const chosen = choices.find((choice) => choice.value === (event.target as HTMLSelectElement).value);
    if (chosen) choose(chosen.value);
  };
  return html`
    <select aria-label=${label} title=${label} @change=${take}>
      ${choices.map(
        (choice) =>
          html`<option value=${choice.value} .selected=${live(choice.value === value)}>${choice.label}</option>`,
      )}
    </select>
  `;
}

export function checkbox(options: {
  readonly label: string;
  readonly title?: string;
  readonly checked: boolean;
  readonly change: (checked: boolean) => void;
}): TemplateResult {
  return html`
    <label class="check" title=${options.title ?? nothing}>
      <input
        type="checkbox"
        .checked=${live(options.checked)}
        @change=${(event: Event) => options.change((event.target as HTMLInputElement).checked)}
      />
      ${options.label}
    </label>
  `;
}

/** A number in a small field, taken when it is complete. What is out of range is not taken: the old value comes back. */
export function numberField(options: {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly change: (value: number) => void;
}): TemplateResult {
  const take = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const value = input.valueAsNumber;
    if (value >= options.min && value <= options.max) options.change(value);
    else input.value = String(options.value);
  };
  return html`
    <input
      type="number"
      aria-label=${options.label}
      title=${options.label}
      min=${options.min}
      max=${options.max}
      step="any"
      .value=${live(String(options.value))}
      @change=${take}
    />
  `;
}

/** A slider with its value beside it. */
export function slider(options: {
  readonly label: string;
  readonly value: number;
  /** The value in words. */
  readonly text: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly change: (value: number) => void;
}): TemplateResult {
  return html`
    <label class="slider">
      <span>${options.label}</span>
      <input
        type="range"
        min=${options.min}
        max=${options.max}
        step=${options.step}
        aria-valuetext=${options.text}
        .value=${live(String(options.value))}
        @input=${(event: Event) => options.change((event.target as HTMLInputElement).valueAsNumber)}
      />
      <output>${options.text}</output>
    </label>
  `;
}

/** A text of one paragraph. Composition with an input method changes nothing until it ends; Enter never breaks the line. */
export function textField(options: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** Of the text, for screen readers and fonts. */
  readonly language?: string;
  readonly composing: boolean;
  readonly compose: (on: boolean) => void;
  /** It may be the value that it already has. */
  readonly change: (value: string) => void;
  readonly enter?: () => void;
}): TemplateResult {
  const take = (event: Event) => options.change((event.target as HTMLTextAreaElement).value);
  return html`
    <textarea
      rows="1"
      spellcheck="false"
      autocapitalize="off"
      autocomplete="off"
      lang=${options.language ?? nothing}
      aria-label=${options.label}
      placeholder=${options.placeholder}
      .value=${options.composing ? noChange : live(options.value)}
      @input=${(event: InputEvent) => {
        if (!options.composing && !event.isComposing) take(event);
      }}
      @compositionstart=${() => options.compose(true)}
      @compositionend=${(event: CompositionEvent) => {
        options.compose(false);
        take(event);
      }}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key !== 'Enter' || event.isComposing) return;
        event.preventDefault();
        options.enter?.();
      }}
    ></textarea>
  `;
}
