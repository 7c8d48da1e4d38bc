/** Fresh projects in temporary folders that use the packed package as a stranger would. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

export class Project {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** A new project with the tarball installed, and those of our own development packages that are named. */
  static async create(...packages: string[]): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), 'multihead-project-')));
    await project.write('package.json', JSON.stringify({ name: 'stranger', private: true, type: 'module' }));
    const exact = await Promise.all(packages.map(withOurVersion));
    await project.run('npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', inject('tarball'), ...exact);
    return project;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), text);
  }

  /** Runs a command here. Throws an error with all it printed if it fails. */
  async run(command: string, ...args: string[]): Promise<Ran> {
    try {
      return await promisify(execFile)(command, args, { cwd: this.folder, maxBuffer: 1 << 24 });
    } catch (thrown) {
      const { stdout, stderr } = thrown as Ran;
      throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
    }
  }

  /** Runs JavaScript in Node as a module of this project, and reads the JSON that it prints. */
  async runNode(code: string): Promise<unknown> {
    await this.write('script.mjs', code);
    const { stdout } = await this.run(process.execPath, 'script.mjs');
    return JSON.parse(stdout);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true });
  }
}

async function withOurVersion(name: string): Promise<string> {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { devDependencies: Record<string, string> };
  return `${name}@${manifest.devDependencies[name]}`;
}
