// The shapes of the wire under short names. They come from the server's OpenAPI document.
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** What is asked beside what a method's own arguments say. */
type Without<Request, Names extends keyof Request> = Omit<Request, Names>;

export type NewItem = Schemas["NewItem"];
export type Item = Schemas["Item"];
export type ItemPage = Schemas["ItemPage"];
export type Written = Schemas["Written"];
export type Link = Schemas["Link"];
export type Event = Schemas["Event"];
export type NewMemory = Schemas["NewMemory"];
export type Remembered = Schemas["Remembered"];
export type Turn = Schemas["Turn"];
export type ExtractedMemories = Schemas["ExtractedMemories"];
export type MemoryRequest = Schemas["MemoryRequest"];
export type MemorySearchResult = Schemas["MemorySearchResult"];
export type SearchAnswer = Schemas["SearchAnswer"];
export type SearchHit = Schemas["SearchHit"];
export type Assembly = Schemas["Assembly"];
export type Notice = Schemas["Notice"];
export type SectionsContext = Schemas["SectionsContext"];
export type MemoryContext = Schemas["MemoryContext"];
export type PrimeAnswer = Schemas["PrimeAnswer"];
export type WorkspaceContext = Schemas["WorkspaceContext"];
export type WorkspaceValidation = Schemas["WorkspaceValidation"];
export type SituationContext = Schemas["SituationContext"];
export type ProposalContext = Schemas["ProposalContext"];
export type Frontier = Schemas["Frontier"];
export type Receipt = Schemas["Receipt"];
export type Difference = Schemas["Difference"];
export type Replay = Schemas["Replay"];
export type Citations = Schemas["Citations"];
export type Noted = Schemas["Noted"];
export type Names = Schemas["Names"];
export type Template = Schemas["Template"];
export type RankerText = Schemas["RankerText"];
export type RecipeText = Schemas["RecipeText"];
export type Count = Schemas["Count"];
export type WorkspaceName = Schemas["WorkspaceName"];
export type Workspaces = Schemas["Workspaces"];
export type WorkspaceState = Schemas["Workspace"];
export type DefaultModel = Schemas["DefaultModel"];
export type FilesAdded = Schemas["FilesAdded"];
export type WorkspaceModel = Schemas["WorkspaceModel"];

export type Options = Without<Schemas["AnyRequest"], "query">;
export type MemoryOptions = Without<Schemas["MemoryRequest"], "query" | "vector">;
export type PrimeOptions = Without<Schemas["PrimeRequest"], "threadId" | "message" | "query">;
export type WorkspaceOptions = Without<Schemas["WorkspaceRequest"], "query" | "tokenBudget" | "user"> & {
  /** A number for all of it, or `total` and a cap for each section. */
  tokenBudget?: Schemas["WorkspaceTokenBudget"] | null;
  /** A name, or an object with `id` and `groups`. */
  user?: Schemas["WorkspaceUser"] | null;
};
export type SituationOptions = Without<Schemas["SituationRequest"], "query">;
export type ProposalOptions = Without<
  Schemas["ProposalRequest"],
  "opportunityId" | "userPrompt" | "query"
>;
export type SearchOptions = Without<Schemas["SearchRequest"], "query">;

/** What a build would give, with what decided it. */
export interface MemoryPreview extends MemoryContext {
  memoryIds: string[];
  rankingScores: Record<string, number>;
  budgetUsed: number;
}

/** How the server is. */
export interface Health {
  status: string;
  version?: string;
}

/** A step of a build is done, the asker should know something, or the result is there. */
export type StreamEvent =
  | { event: "stage"; stage: string; ms: number }
  | { event: "warning"; notice: Notice }
  | { event: "result"; result: Result };

/** What every recipe's result has; the rest is in the shape of the recipe. */
export interface Result {
  context: string;
  assembly: Assembly;
  [name: string]: unknown;
}
