// Runs on whatever Node a machine has, so it uses nothing new. Says what to do when the project's own Node is missing.
const wanted = 24;
const major = Number(process.versions.node.split(".")[0]);
if (major !== wanted) {
  console.error(
    `Deedhouse runs on Node ${wanted}, this is ${process.version} on ${process.platform}-${process.arch}. ` +
      `On Linux x64 and arm64 npm brings it along (do not use --omit=optional); elsewhere install Node ${wanted} and try again.`,
  );
  process.exit(1);
}
