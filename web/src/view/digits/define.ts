/** Registers `<multihead-digits>` and the elements within it. Importing it does so. */
import { definePictures } from '../pictures/define-pictures.js';
import { DrawingPad } from './drawing-pad.js';
import { MultiheadDigits } from './multihead-digits.js';

declare global {
  interface HTMLElementTagNameMap {
    'multihead-digits': MultiheadDigits;
    'mh-drawing-pad': DrawingPad;
  }
}

definePictures();
if (!customElements.get('mh-drawing-pad')) customElements.define('mh-drawing-pad', DrawingPad);
if (!customElements.get('multihead-digits')) customElements.define('multihead-digits', MultiheadDigits);
