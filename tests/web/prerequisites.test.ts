import { expect, it } from 'vitest';
import { checkNode } from '../../web/prerequisites.mjs';

it('wants Node 20.19 or newer', () => {
  for (const old of ['18.20.4', '19.9.0', '20.0.0', '20.18.3']) {
    expect(() => checkNode(old)).toThrow(`Node.js ${old} is too old: 20.19 or newer is needed`);
  }
  for (const enough of ['20.19.0', '20.20.0', '21.0.0', '22.1.0', '26.0.0']) checkNode(enough);
  checkNode();
});
