/** Colours for light and dark. The pictures take theirs from the same custom properties (pictures/types.ts). */
import { css } from 'lit';

const light = css`
  --mh-paper: #fff;
  --mh-ink: #1c2127;
  --mh-muted: #59636e;
  --mh-line: #d5dae0;
  --mh-accent: #b8392b;
  --mh-on-accent: #fff;
  --mh-focus: #b8392b;
  --mh-soft: #f4f5f7;
  --mh-data: #3c4f76;
  --mh-edge: rgb(28 33 39 / 0.22);
  color-scheme: light;
`;

const dark = css`
  --mh-paper: #14171b;
  --mh-ink: #e8eaed;
  --mh-muted: #a1abb6;
  --mh-line: #363d46;
  --mh-accent: #ff8470;
  --mh-on-accent: #1a0c09;
  --mh-focus: #ff9d8c;
  --mh-soft: #1d2126;
  --mh-data: #8ea7d8;
  --mh-edge: rgb(0 0 0 / 0.7);
  color-scheme: dark;
`;

export const colours = css`
  :host {
    ${light}
  }
  @media (prefers-color-scheme: dark) {
    :host(:not([theme="light"])) {
      ${dark}
    }
  }
  :host([theme="dark"]) {
    ${dark}
  }
`;
