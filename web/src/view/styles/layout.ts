/** Where sections go, in four widths of the lens itself: a phone, a column of an article, a small and a large screen. */
import { css } from 'lit';

export const layout = css`
  :host {
    display: block;
    container-type: inline-size;
    --mh-font: system-ui, "PingFang SC", "Noto Sans SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif;
    /* On a projector, all text is this much larger: see the widest layout. */
    --mh-size: 1;
    font: 14px/1.45 var(--mh-font);
    font-variant-numeric: tabular-nums;
    color: var(--mh-ink);
    background: var(--mh-paper);
    text-align: start;
    -webkit-text-size-adjust: 100%;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  .lens {
    font-size: calc(14px * var(--mh-size));
    display: grid;
    grid-template: "sentence" auto "heads" auto "stage" auto "tabs" auto "panels" auto "entropy" auto "proof" auto / minmax(
        0,
        1fr
      );
    gap: 12px;
    padding: 12px;
  }
  /* Painted on its own: a keystroke that leaves a section as it is, or a frame for another, does not paint it again. The
     stage stays with the rest, for what it says of a cell reaches over its neighbours. */
  section:not(.stage) {
    isolation: isolate;
  }
  .sentence {
    grid-area: sentence;
  }
  .heads {
    grid-area: heads;
    min-inline-size: 0;
  }
  .stage {
    grid-area: stage;
    display: flex;
    flex-direction: column;
    gap: 6px;
    min-inline-size: 0;
  }
  .tabs {
    grid-area: tabs;
  }
  .panels {
    grid-area: panels;
    min-inline-size: 0;
  }
  .panel {
    display: none;
    min-inline-size: 0;
  }
  .panel select {
    padding-inline: 4px;
  }
  .entropy {
    grid-area: entropy;
  }
  .proof {
    grid-area: proof;
  }
  .lens[data-tab="mask"] .panel[part="mask"],
  .lens[data-tab="arithmetic"] .panel[part="arithmetic"],
  .lens[data-tab="reading"] .panel[part="reading"],
  .lens[data-tab="output"] .panel[part="output"],
  .lens[data-tab="entropy"] .panel[part="entropy"] {
    display: block;
  }
  /* A picture never changes the size of its place: what does not fit scrolls or scales within. */
  .picture {
    container-type: size;
    block-size: calc(100cqi - 36px);
    overflow: auto;
    scrollbar-width: thin;
  }

  @container (min-width: 620px) {
    .lens .tabs {
      display: none;
    }
    .picture {
      block-size: min(88cqi, 640px);
    }
    .panels {
      display: grid;
      grid-template-columns: repeat(2, minmax(0, 1fr));
      gap: 4px 24px;
    }
    .lens .panel {
      display: block;
      padding-block: 6px;
      border-block-start: 1px solid var(--mh-line);
    }
  }

  @container (min-width: 900px) {
    .lens {
      grid-template:
        "sentence sentence" auto
        "heads heads" auto
        "stage panels" auto
        "entropy panels" auto
        "proof proof" auto / minmax(0, 1fr) 336px;
      column-gap: 24px;
    }
    .picture {
      block-size: min(62cqi, 640px);
    }
    .panels {
      display: block;
    }
    .lens .panel:first-of-type {
      border-block-start: 0;
    }
  }

  @container (min-width: 1320px) {
    .lens {
      grid-template:
        "sentence sentence sentence" auto
        "heads stage panels" auto
        "entropy stage panels" minmax(0, 1fr)
        "proof proof proof" auto / 420px minmax(0, 1fr) 336px;
      gap: 8px 24px;
      block-size: 100%;
      padding: 12px 20px 8px;
    }
    .stage,
    .panels,
    .lens .entropy {
      min-block-size: 0;
    }
    .panels,
    .lens .entropy {
      overflow: auto;
      scrollbar-width: thin;
    }
    .picture {
      flex: 1;
      block-size: auto;
      min-block-size: 0;
    }
  }

  /* A projector: readable from the last row. */
  @container (min-width: 1600px) {
    .lens {
      --mh-size: 1.25;
      grid-template-columns: 540px minmax(0, 1fr) 420px;
    }
  }
`;
