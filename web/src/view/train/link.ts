/**
 * The Train room ↔ URL hash: `#room=train&task=sort&heads=8`, and with a second run what differs in it:
 * `&compare=1&b.heads=1`. Only what differs from the default is written; what cannot be read keeps its default and is
 * named in `problems`.
 */
import { defaultSettings, pairsToSettings, type Settings, settingsToPairs } from '../../study/settings.js';
import { hashPairs } from '../url.js';

export interface RoomSettings {
  readonly first: Settings;
  readonly second: Settings | null;
}

const SECOND = 'b.';

export function roomToHash({ first, second }: RoomSettings): string {
  const pairs = [
    ['room', 'train'],
    ...settingsToPairs(first),
    ...(second
      ? [['compare', '1'], ...settingsToPairs(second, first).map(([name, value]) => [SECOND + name, value])]
      : []),
  ];
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

export function hashToRoom(hash: string): { readonly settings: RoomSettings; readonly problems: readonly string[] } {
  const pairs = hashPairs(hash);
  const { settings: first, problems } = pairsToSettings(
    pairs.filter(([name]) => !name.startsWith(SECOND)),
    defaultSettings,
  );
  const compare = pairs.find(([name]) => name === 'compare')?.[1];
  if (compare === undefined) return { settings: { first, second: null }, problems };
  if (compare !== '1') return { settings: { first, second: null }, problems: [...problems, 'compare'] };
  const theirs = pairs
    .filter(([name]) => name.startsWith(SECOND))
    .map(([name, value]) => [name.slice(SECOND.length), value] as const);
  const second = pairsToSettings(theirs, first);
  // Two runs are compared on one task.
  const otherTask = second.settings.task === first.task ? [] : ['task'];
  return {
    settings: { first, second: { ...second.settings, task: first.task } },
    problems: [...problems, ...[...otherTask, ...second.problems].map((name) => SECOND + name)],
  };
}
