/** The script of the Web Worker. Importing it starts it. */
import type { Endpoint } from 'comlink';
import { serve } from './serve.js';

serve(globalThis as unknown as Endpoint);
