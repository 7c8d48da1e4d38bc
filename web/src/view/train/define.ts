/** Registers `<multihead-train>` and the elements within it. Importing it does so. */
import { definePictures } from '../pictures/define-pictures.js';
import { CurvesElement } from './curves.js';
import { MultiheadTrain } from './multihead-train.js';

declare global {
  interface HTMLElementTagNameMap {
    'multihead-train': MultiheadTrain;
  }
}

definePictures();
if (!customElements.get('mh-curves')) customElements.define('mh-curves', CurvesElement);
if (!customElements.get('multihead-train')) customElements.define('multihead-train', MultiheadTrain);
