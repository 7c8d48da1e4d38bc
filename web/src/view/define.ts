/** Registers `<multihead-lens>` and the elements within it. The only module of the view whose import does something. */
import { MultiheadLens } from './multihead-lens.js';
import { definePictures } from './pictures/define-pictures.js';

declare global {
  interface HTMLElementTagNameMap {
    'multihead-lens': MultiheadLens;
  }
}

definePictures();
if (!customElements.get('multihead-lens')) customElements.define('multihead-lens', MultiheadLens);
