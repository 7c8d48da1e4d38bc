/** The text field and the tokens. */
import { css } from 'lit';

export const sentence = css`
  .write {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
    margin-block-end: 6px;
  }
  textarea {
    flex: 1 1 100%;
  }
  .examples {
    max-inline-size: 8.5rem;
  }
  .count {
    min-inline-size: 7rem;
    margin-inline-start: auto;
    text-align: end;
  }
  .write .segments {
    order: 1;
  }
  .chips {
    display: flex;
    flex-wrap: wrap;
    align-items: end;
    gap: 2px 4px;
    min-block-size: 98px;
    /* A long text must not push the picture off the screen. */
    max-block-size: 200px;
    overflow: auto;
    scrollbar-width: thin;
    /* A shadow at the edge over which there is more: the paper that covers it scrolls with the tokens. */
    background:
      linear-gradient(var(--mh-paper) 40%, transparent) top / 100% 20px no-repeat local,
      linear-gradient(transparent, var(--mh-paper) 60%) bottom / 100% 20px no-repeat local,
      linear-gradient(var(--mh-edge), transparent) top / 100% 8px no-repeat,
      linear-gradient(transparent, var(--mh-edge)) bottom / 100% 8px no-repeat;
    align-content: start;
    --bar: 12px;
  }
  .chip {
    display: flex;
    flex-direction: column;
    align-items: stretch;
    min-inline-size: 30px;
    min-block-size: calc(36px + var(--bar));
    padding: 0;
    border: 0;
    border-radius: 4px;
    background: none;
    font-size: calc(14px * var(--mh-size));
  }
  /* Few positioned elements: each is a layer, and there would be two or three a token, met by every painting. */
  .chip .bar {
    display: flex;
    flex-direction: column-reverse;
    block-size: calc(14px + var(--bar)); /* the longest bar, and its number above it */
    margin-inline: 3px;
    border-block-end: 1px solid var(--mh-line);
  }
  .chip .bar.moved {
    position: relative;
  }
  .chip .bar i {
    flex: none;
    block-size: calc(var(--share) * var(--bar));
    background: var(--mh-data);
  }
  .chip .bar i.before {
    position: absolute;
    inset-inline: -3px;
    inset-block-end: 0;
    block-size: calc(var(--before) * var(--bar));
    border-block-start: 2px solid var(--mh-accent);
    background: none;
  }
  .chip .bar b {
    margin-inline: -6px;
    margin-block-end: calc(max(0, var(--before) - var(--share)) * var(--bar));
    font-size: calc(11px * var(--mh-size));
    font-weight: 600;
    line-height: 14px;
    text-align: center;
  }
  .chip .word {
    padding: 2px 6px;
    border-radius: 4px;
    background: color-mix(in srgb, var(--mh-data) calc(var(--share, 0) * 40%), var(--mh-soft));
    text-align: center;
    white-space: pre;
  }
  .chip.special .word {
    color: var(--mh-muted);
  }
  .chip.joined {
    margin-inline-start: -3px;
  }
  .chip.joined .word {
    border-start-start-radius: 0;
    border-end-start-radius: 0;
  }
  .chip.query .word {
    background: var(--mh-accent);
    color: var(--mh-on-accent);
  }
  .chip.key .word {
    outline: 2px solid var(--mh-accent);
    outline-offset: -2px;
  }
  .chip.off .word {
    text-decoration: line-through;
    background: repeating-linear-gradient(135deg, var(--mh-line) 0 1px, transparent 1px 5px);
  }
  /* Ink on paper, as the hatching needs; the frame tells that it is the query. */
  .chip.off.query .word {
    color: var(--mh-ink);
    box-shadow: inset 0 0 0 2px var(--mh-accent);
  }
  .chip.over {
    justify-content: end;
  }
  .chip.over .word {
    border: 1px dashed var(--mh-accent);
    background: none;
    color: var(--mh-muted);
    text-decoration: line-through;
  }
  .chip.fold .word {
    border: 1px solid var(--mh-line);
    background: none;
    color: var(--mh-muted);
  }
  .chip:hover .word {
    box-shadow: 0 0 0 1px var(--mh-muted);
  }
  @container (min-width: 620px) {
    textarea {
      flex: 1 1 calc(100% - 10rem);
    }
    .examples {
      min-block-size: 42px;
    }
    .count {
      order: 2;
    }
    .chips {
      min-block-size: 60px;
      --bar: 24px;
    }
  }
  @container (min-width: 1320px) {
    textarea {
      flex: 1 1 20rem;
    }
    .chips {
      max-block-size: 124px;
    }
  }
`;
