/**
 * The folder with the certificates of a run's sandbox registries and embedded nodes, which test/run.ts makes once: loading the
 * library takes a process 130 ms, a certificate 20 ms. A test file that runs without it makes its own.
 */
export const sharedTlsFolder = process.env.DEEDHOUSE_TEST_TLS_DIR;
