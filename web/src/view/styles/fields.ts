/** Text, buttons, choices and sliders. */
import { css } from 'lit';

export const text = css`
  h2 {
    margin: 0;
    font-size: calc(14px * var(--mh-size));
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  h3 {
    margin: 0;
    font-size: calc(16px * var(--mh-size));
  }
  p {
    margin: 0;
  }
  .note,
  .hint,
  .caveat,
  .count {
    font-size: calc(12px * var(--mh-size));
    color: var(--mh-muted);
  }
  .note em {
    font-style: normal;
    color: var(--mh-accent);
  }
  .hint {
    min-block-size: 18px;
  }
  .warning {
    color: var(--mh-accent);
  }
  .unseen {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    margin: -1px;
    padding: 0;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  details {
    font-size: calc(13px * var(--mh-size));
  }
  summary {
    min-block-size: 24px;
    color: var(--mh-muted);
    cursor: pointer;
  }
  details p {
    max-inline-size: 62ch;
    margin-block: 6px;
  }
  dl {
    margin: 0;
  }
  dd {
    margin: 0;
  }
`;

export const fields = css`
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
  }
  button,
  select,
  input[type="number"] {
    min-block-size: 28px;
    padding: 2px 8px;
    border: 1px solid var(--mh-line);
    border-radius: 4px;
    background: var(--mh-paper);
    font-size: calc(13px * var(--mh-size));
  }
  textarea {
    min-inline-size: 0;
    min-block-size: 42px;
    padding: 8px 12px;
    border: 1px solid var(--mh-muted);
    border-radius: 6px;
    background: var(--mh-paper);
    font-size: calc(18px * var(--mh-size));
    line-height: calc(24px * var(--mh-size));
    resize: none;
    field-sizing: content;
    max-block-size: 138px;
  }
  button {
    cursor: pointer;
  }
  button:hover:not(:disabled),
  select:hover {
    border-color: var(--mh-muted);
  }
  button:disabled {
    color: var(--mh-muted);
    opacity: 0.6;
    cursor: default;
  }
  button.small {
    min-block-size: 24px;
    padding: 0 8px;
    font-size: calc(12px * var(--mh-size));
  }
  :is(button, select, input, textarea, summary, [tabindex]):focus-visible,
  .segments label:has(input:focus-visible) {
    outline: 2px solid var(--mh-focus);
    outline-offset: 1px;
  }
  input[type="range"],
  input[type="checkbox"],
  progress {
    accent-color: var(--mh-accent);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 10px;
    margin-block: 4px;
  }
  .spread {
    justify-content: space-between;
  }
  .stage > .row {
    margin: 0;
  }
  .foot {
    display: grid;
    align-content: end;
    gap: 4px;
    min-block-size: 72px;
  }
  .title {
    align-items: baseline;
  }
  /* An empty hint keeps its line, or the picture below would move. */
  .title .hint::before {
    content: "\\200b";
  }
  fieldset {
    min-inline-size: 0;
    margin: 0;
    padding: 0;
    border: 0;
  }
  .segments {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 2px 8px;
  }
  .segments legend {
    float: inline-start;
    padding: 0;
    font-size: calc(13px * var(--mh-size));
    color: var(--mh-muted);
  }
  .segments > div {
    display: flex;
    border: 1px solid var(--mh-line);
    border-radius: 4px;
  }
  .segments label {
    display: grid;
    place-items: center;
    min-block-size: 26px;
    padding: 1px 9px;
    border-radius: 3px;
    font-size: calc(13px * var(--mh-size));
    white-space: nowrap;
    cursor: pointer;
  }
  .segments label + label {
    border-inline-start: 1px solid var(--mh-line);
    border-start-start-radius: 0;
    border-end-start-radius: 0;
  }
  .segments label:has(+ label) {
    border-start-end-radius: 0;
    border-end-end-radius: 0;
  }
  .segments label:hover {
    background: var(--mh-soft);
  }
  .segments input {
    position: absolute;
    opacity: 0;
    pointer-events: none;
  }
  .segments label:has(:checked) {
    background: var(--mh-ink);
    color: var(--mh-paper);
  }
  .segments label:has(:disabled) {
    color: var(--mh-muted);
    opacity: 0.55;
    cursor: not-allowed;
  }
  .slider {
    display: flex;
    flex: 1;
    align-items: center;
    gap: 8px;
    font-size: calc(13px * var(--mh-size));
  }
  .slider span {
    color: var(--mh-muted);
    white-space: nowrap;
  }
  .slider input {
    flex: 1;
    min-inline-size: 60px;
    min-block-size: 24px;
    margin: 0;
  }
  .slider output {
    min-inline-size: 4ch;
    text-align: end;
  }
  .check {
    display: flex;
    align-items: center;
    gap: 6px;
    font-size: calc(13px * var(--mh-size));
  }
  input[type="number"] {
    inline-size: 9ch;
  }
  .check input {
    inline-size: 16px;
    block-size: 16px;
    margin: 0;
  }
  .check {
    min-block-size: 24px;
  }
`;
