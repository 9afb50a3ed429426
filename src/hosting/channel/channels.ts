/** PostgreSQL notification channels between the gateway's processes. The payload is the node's id, or the question's. */

/** The agent has something to fetch. */
export const nodeDesiredChannel = "node_desired";
/** The node has applied or refused a version. */
export const nodeAppliedChannel = "node_applied";
/** All parts of an answer have arrived. */
export const nodeAnsweredChannel = "node_answered";
/** The usage of accounts of a node has changed. */
export const nodeUsageChannel = "node_usage";
