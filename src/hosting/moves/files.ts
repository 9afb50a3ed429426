/**
 * Copies the files of an account from its node to another, over FTPS with one-time logins. A run stores nothing: the next one
 * lists both sides and copies what is missing, so it may be killed anywhere. Only names and sizes are held in memory.
 */
import {
  type CopierOptions,
  type Copiers,
  CopyFailed,
  FileNotAvailable,
  notAvailableCode,
  root,
  withCopiers,
} from "#hosting/moves/copiers.ts";

export interface CopyOptions extends CopierOptions {
  /** Called after each file; an error that it throws ends the copying. */
  report(progress: CopyProgress): Promise<void>;
}

export interface CopyProgress {
  filesTotal: number;
  filesDone: number;
  bytesDone: number;
}

interface Tree {
  /** Paths below `www`; parents come before their children. */
  folders: Set<string>;
  /** Sizes in bytes by path. */
  files: Map<string, number>;
}

/**
 * The first copy, while the account is in use: copies what the target lacks, by name and size. `finishCopy` copes with files
 * that change or disappear meanwhile.
 * @throws CopyFailed, the errors of the drivers, and what `report` throws
 */
export async function copyFiles(options: CopyOptions): Promise<void> {
  await withCopiers(options, async (copiers) => {
    const [source, target] = await Promise.all([listTree(copiers, "source"), listTree(copiers, "target")]);
    await alignFolders(copiers, source, target);
    const missing = [...source.files].filter(([path, bytes]) => target.files.get(path) !== bytes);
    const progress = startProgress(options, source, missing.length);
    await copiers.each(missing, async (copier, [path]) => {
      const bytes = await copier.copy(path).catch(ignoreGone);
      await progress(bytes?.bytes ?? 0);
    });
  });
}

/**
 * The second copy, while the files cannot be changed: makes the target identical, and reads both sides back to prove it.
 * @returns the account's usage
 * @throws as `copyFiles`
 */
export async function finishCopy(options: CopyOptions): Promise<{ files: number; bytes: number }> {
  return withCopiers(options, async (copiers) => {
    const [source, target] = await Promise.all([listTree(copiers, "source"), listTree(copiers, "target")]);
    await alignFolders(copiers, source, target);
    const progress = startProgress(options, source, source.files.size);
    await copiers.each([...source.files], async (copier, [path, bytes]) => {
      if (target.files.get(path) !== bytes || !(await copier.isSame(path))) {
        const { digest } = await copier.copy(path);
        if (digest !== (await copier.digestOfCopy(path))) {
          throw new CopyFailed(`${path} has other content than was sent`);
        }
      }
      await progress(bytes);
    });
    const copy = await listTree(copiers, "target");
    const difference = differenceOf(source, copy);
    if (difference !== undefined) throw new CopyFailed(`the copies differ in ${difference}`);
    const bytes = [...source.files.values()].reduce((sum, size) => sum + size, 0);
    return { files: source.files.size + source.folders.size, bytes };
  });
}

function startProgress({ report }: CopyOptions, source: Tree, filesToDo: number) {
  const filesTotal = source.files.size;
  let filesDone = filesTotal - filesToDo;
  let bytesDone = 0;
  // One after another, so that the last report is the latest.
  let reported = Promise.resolve();
  return (bytes: number) => {
    filesDone += 1;
    bytesDone += bytes;
    const progress = { filesTotal, filesDone, bytesDone };
    reported = reported.then(() => report(progress));
    return reported;
  };
}

/** While an account is in use, its files may disappear. */
function ignoreGone(error: unknown): undefined {
  if (!(error instanceof FileNotAvailable)) throw error;
}

function differenceOf(source: Tree, target: Tree): string | undefined {
  for (const folder of [...source.folders, ...target.folders]) {
    if (!source.folders.has(folder) || !target.folders.has(folder)) return folder;
  }
  for (const path of new Set([...source.files.keys(), ...target.files.keys()])) {
    if (source.files.get(path) !== target.files.get(path)) return path;
  }
}

/** Removes from the target what the source does not have, and creates the folders of the source. */
async function alignFolders(copiers: Copiers, source: Tree, target: Tree): Promise<void> {
  const extraFiles = [...target.files.keys()].filter((path) => !source.files.has(path));
  await copiers.each(extraFiles, (copier, path) => copier.run(({ to }) => to.remove(root + path)));
  const extraFolders = [...target.folders].filter((path) => !source.folders.has(path)).reverse();
  const newFolders = [...source.folders].filter((path) => !target.folders.has(path));
  // A folder is removed after its content, and created before it.
  await copiers.one(async (copier) => {
    for (const path of extraFolders) await copier.run(({ to }) => to.removeEmptyDir(root + path));
    for (const path of newFolders) {
      // An earlier attempt may have created it, and lost the answer.
      await copier.run(
        ({ to }) => to.send(`MKD ${root}${path}`),
        (error) => error.code === notAvailableCode || error.code === 521,
      );
    }
  });
}

async function listTree(copiers: Copiers, side: "source" | "target"): Promise<Tree> {
  const tree: Tree = { folders: new Set(), files: new Map() };
  // Grows while it is iterated.
  const queue = [""];
  await copiers.one(async (copier) => {
    for (const folder of queue) {
      for (const entry of await copier.list(side, folder)) {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory) {
          tree.folders.add(path);
          queue.push(path);
        } else if (entry.isFile) tree.files.set(path, entry.size);
      }
    }
  }, side);
  return tree;
}
