// Client for Haversack: context for language models, inside an exact token budget.
export { Haversack, type Call, type ClientOptions } from "./client.js";
export * from "./errors.js";
export type * from "./types.js";
export { DEFAULT_URL } from "./wire.js";
export { Workspace, type Build, type Write } from "./workspace.js";
