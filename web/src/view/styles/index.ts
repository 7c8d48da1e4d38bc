/** The lens's own look. */
import { colours } from './colours.js';
import { fields, text } from './fields.js';
import { layout } from './layout.js';
import { panels, preferences } from './panels.js';
import { sentence } from './sentence.js';

export const lensStyles = [colours, layout, text, fields, sentence, panels, preferences];
