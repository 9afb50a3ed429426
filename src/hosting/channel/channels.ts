/** What processes tell each other about nodes, by notification. The payload is the node's id, or the question's. */

/** An agent has something to fetch. */
export const nodeDesiredChannel = "node_desired";
/** A node has applied more than before, or refused something. */
export const nodeAppliedChannel = "node_applied";
/** All parts of a question's answer are there. */
export const nodeAnsweredChannel = "node_answered";
/** What accounts of a node use has changed. */
export const nodeUsageChannel = "node_usage";
