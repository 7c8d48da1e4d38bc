/** The script of the worker that trains, or reads what was trained. Importing it starts it. */
import type { Endpoint } from 'comlink';
import { serveTraining } from './serve-training.js';

serveTraining(globalThis as unknown as Endpoint);
