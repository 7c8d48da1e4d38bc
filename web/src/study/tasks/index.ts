/** All tasks, in the order in which the page offers them: the first is where a newcomer starts. */
import type { Task } from '../task.js';
import { recall, worldEn, worldZh } from './facts.js';
import { copy, induction, reverse, sort } from './letters.js';
import { brackets, majority } from './signs.js';

const tasks = {
  induction,
  copy,
  reverse,
  sort,
  recall,
  majority,
  brackets,
  'world-en': worldEn,
  'world-zh': worldZh,
} as const satisfies Readonly<Record<string, Task>>;

export type TaskId = keyof typeof tasks;
export const taskIds = Object.keys(tasks) as readonly TaskId[];

export const taskOf = (id: TaskId): Task => tasks[id];
