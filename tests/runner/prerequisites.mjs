// What the tests need: on Debian or Ubuntu as root it is installed, anywhere else it is said how.
import { existsSync, readdirSync } from 'node:fs';
import { checkNode, installPackages } from '../../web/prerequisites.mjs';
import { has, run } from './command.mjs';

const CMOCKA_HEADERS = ['/usr/include', '/usr/local/include', '/opt/homebrew/include'];
const CHINESE_FONTS = ['/usr/share/fonts/opentype/noto', '/System/Library/Fonts'];

/** A tool, the groups that use it, and the package that has it. */
const TOOLS = [
  { name: 'clang-format 19', groups: ['lint'], apt: 'clang-format-19', found: () => has('clang-format-19') },
  { name: 'clang-tidy 19', groups: ['lint'], apt: 'clang-tidy-19', found: () => has('clang-tidy-19') },
  { name: 'shellcheck', groups: ['lint'], apt: 'shellcheck', found: () => has('shellcheck') },
  {
    name: 'a C compiler',
    groups: ['native'],
    apt: 'gcc libc6-dev',
    found: async () => (await has('gcc')) || has('clang'),
  },
  { name: 'clang with libFuzzer', groups: ['native'], apt: 'clang-19 libclang-rt-19-dev', found: hasLibFuzzer },
  { name: 'cmocka', groups: ['native'], apt: 'libcmocka-dev', found: () => hasFile(CMOCKA_HEADERS, 'cmocka.h') },
  { name: 'Chromium', groups: ['package', 'e2e'], apt: 'chromium', found: hasChromium },
  { name: 'a Chinese font', groups: ['e2e'], apt: 'fonts-noto-cjk', found: () => CHINESE_FONTS.some(hasEntries) },
];

function hasFile(folders, file) {
  return folders.some((folder) => existsSync(`${folder}/${file}`));
}

function hasEntries(folder) {
  return existsSync(folder) && readdirSync(folder).length > 0;
}

/** Debian packs clang's run-time libraries apart from clang. */
async function hasLibFuzzer() {
  const program = 'int LLVMFuzzerTestOneInput(void) { return 0; }';
  const clangs = 'clang clang-26 clang-25 clang-24 clang-23 clang-22 clang-21 clang-20 clang-19';
  const probe = `for c in ${clangs}; do echo '${program}' | $c -fsanitize=fuzzer -xc - -o /dev/null && exit; done; exit 1`;
  return (await run('sh', ['-c', probe], { quiet: true })).code === 0;
}

/** `CHROMIUM` names another browser of the family; tests/e2e/support/browser.ts reads it too. */
function hasChromium() {
  return existsSync(process.env.CHROMIUM ?? '/usr/bin/chromium');
}

async function missingTools(groups) {
  const wanted = TOOLS.filter((tool) => tool.groups.some((group) => groups.includes(group)));
  const found = await Promise.all(wanted.map((tool) => tool.found()));
  return wanted.filter((_, index) => !found[index]);
}

/** One by one, so that a package that a distribution does not have takes no other with it. */
async function aptInstall(missing) {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update', '-qq'], { env });
  for (const { apt } of missing) {
    console.log(`installing ${apt} by apt`);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...apt.split(' ')], { env, quiet: true });
  }
}

async function installTools(groups) {
  let missing = await missingTools(groups);
  if (missing.length > 0 && process.getuid?.() === 0 && (await has('apt-get'))) {
    await aptInstall(missing);
    missing = await missingTools(groups);
  }
  for (const { name, apt } of missing) {
    console.error(`There is no ${name}, and tests will fail for it. Debian, Ubuntu:  sudo apt-get install ${apt}`);
  }
}

/** Throws if the tests cannot even begin. */
export async function prepare(groups) {
  checkNode();
  installPackages();
  await installTools(groups);
}
