/** The rows of a page, where a request does not say how many. The client's texts and the documents name both numbers. */
export const takeDefault = 25;
export const takeMax = 100;
