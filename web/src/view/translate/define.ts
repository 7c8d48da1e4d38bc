/** Registers `<multihead-translate>` and the elements within it. Importing it does so. */
import { definePictures } from '../pictures/define-pictures.js';
import { AlignmentElement } from './alignment.js';
import { MultiheadTranslate } from './multihead-translate.js';

declare global {
  interface HTMLElementTagNameMap {
    'multihead-translate': MultiheadTranslate;
    'mh-alignment': AlignmentElement;
  }
}

definePictures();
if (!customElements.get('mh-alignment')) customElements.define('mh-alignment', AlignmentElement);
if (!customElements.get('multihead-translate')) customElements.define('multihead-translate', MultiheadTranslate);
