/** The metrics of the threads of a process as one page: counts are added up. */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from "prom-client";

/** What a thread has counted and has; it can be sent to another thread. */
export type ThreadShare = MetricObjectWithValues<MetricValue<string>>[];

/** prom-client measures these for the whole process, whichever thread asks. */
const ofProcess = /^process_/;
const ofEventLoop = /^nodejs_eventloop_lag_(?!min_)/;

/** prom-client would leave out some, and make averages of the lags: the event loop that is behind would not be seen. */
function aggregatorOf({ name, aggregator }: ThreadShare[number]): string {
  if (ofProcess.test(name)) return "first";
  return ofEventLoop.test(name) ? "max" : String(aggregator);
}

export async function shareOf(registry: Registry): Promise<ThreadShare> {
  const metrics = (await registry.getMetricsAsJSON()) as ThreadShare;
  return metrics.map((metric) => ({ ...metric, aggregator: aggregatorOf(metric) }) as ThreadShare[number]);
}

export const withoutProcess = (share: ThreadShare): ThreadShare => share.filter(({ name }) => !ofProcess.test(name));

export const pageOf = (shares: readonly ThreadShare[]): Promise<string> =>
  AggregatorRegistry.aggregate([...shares]).metrics();

/** What threads that have ended counted: it must not be lost, or a sum would fall. */
export async function countsOf(shares: readonly ThreadShare[]): Promise<ThreadShare> {
  const summed = (await AggregatorRegistry.aggregate([...shares]).getMetricsAsJSON()) as ThreadShare;
  return summed.filter(({ type }) => String(type) !== "gauge");
}
