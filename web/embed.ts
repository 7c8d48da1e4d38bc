/** What a bare page gets from one script: the elements, registered, and the engine's functions as exports. */
import './src/view/define.js';

export * from './src/index.js';
