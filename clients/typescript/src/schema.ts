// Made from the server's OpenAPI document by `npm run schema`: do not change it by hand.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The analysis of a query. */
        Analysis: {
            /** @description The query's language code. */
            language: string;
            /** @description The query's words without stop words. */
            keywords: string[];
            /** @description The quoted phrases. */
            phrases: string[];
            /** @description File paths. */
            paths: string[];
            /** @description The names after `@`. */
            references: string[];
            /** @description The times that the query names, as ranges. */
            times: components["schemas"]["Time"][];
            /** @description The filters on items' fields that the query implies. Only matching items are searched. */
            filters: components["schemas"]["FieldFilter"][];
            /** @description The words of the query that implied the filters. */
            understood: string[];
            /** @description The user's intent. */
            intent: string;
        };
        /** @description Part of a body of Anthropic's Messages API. */
        AnthropicMessages: {
            /**
             * @description The pack's text. Its foundational and its stable part end with a breakpoint each, so at most
             *     two of the API's four are used.
             */
            system?: components["schemas"]["TextBlock"][];
            /** @description The conversation, then the query. */
            messages: components["schemas"]["ProviderMessage"][];
        };
        /** @description A request to any recipe. The five applications also have request types of their own. */
        AnyRequest: {
            /**
             * @description The query in the user's words; may be empty.
             * @default
             */
            query?: string;
            /**
             * @description The user with whose permissions everything is read. Without a user and groups, it is read as the
             *     owner of the data.
             */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request, such as `assist`, `chat`, `search` or `automate`. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the thread: the subject `thread`. */
            threadId?: string | null;
            /** @description The id of the opportunity: the subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The id of the current context. */
            currentContext?: string | null;
            /** @description The facts of the situation by name, for the conditions of rules. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description Only items with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description Most items that a search returns; the recipe's own limit when left out.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens, reserves included; the recipe's own when left out.
             */
            tokenBudget?: number | null;
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description A template in place of the layers' own: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time are added after texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker in place of the layers' own: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description The part that the results of all recipes share, under `assembly`. */
        Assembly: {
            /** @description The id of the receipt, with which the pack can be explained, replayed and compared. */
            receipt: string;
            /** @description The name of the recipe. */
            recipe: string;
            /** @description The state of the workspace, for `asOf`. */
            revision: components["schemas"]["Revision"];
            /** @description The time that was used as the current time. */
            now: string;
            /** @description The tokenizer that counted the tokens. */
            tokenizer: string;
            /** @description The accuracy of the token counts. */
            accuracy: string;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budget: number;
            /**
             * Format: uint32
             * @description Most tokens that the final string could have.
             */
            limit: number;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokens: number;
            /** @description Counts for each layer. */
            layers: components["schemas"]["Layer"][];
            /** @description Notices for the caller. */
            notices: components["schemas"]["Notice"][];
            /** @description Whether the pack was made without a failed collector or model. */
            degraded: boolean;
            /** @description The analysis of the query (K1). */
            query: components["schemas"]["Analysis"];
            /** @description Milliseconds of each stage, and in total. */
            timingsMs: {
                [key: string]: number;
            };
            /** @description What was used of models from providers, by what they do. */
            models?: {
                [key: string]: components["schemas"]["ModelUsage"];
            };
            /**
             * Format: uint64
             * @description The text's tokens by the provider's own count, where one is configured.
             */
            providerTokens?: number | null;
            /** @description Data of collectors other than candidates, by name. */
            facts?: {
                [key: string]: unknown;
            };
            /** @description The changes since the previous pack. */
            delta?: components["schemas"]["Delta"] | null;
            /** @description The estimated quality of the pack; only with `explain`. */
            quality?: components["schemas"]["Quality"] | null;
            /** @description The outcome of each candidate; only with `explain`. */
            ledger?: components["schemas"]["LedgerLine"][] | null;
            /** @description The pack as part of a request to a provider's API; with `messages`. */
            messages?: components["schemas"]["ProviderMessages"] | null;
        };
        /** @description How long a breakpoint is kept. */
        CacheControl: {
            /** @description Always `ephemeral`. */
            type: string;
        };
        /** @description An input that differs between two packs. */
        Cause: {
            /** @constant */
            cause: "request";
            /** @description The field's name. */
            field: string;
            /** @description The first request's value; empty when it has none. */
            before: string;
            /** @description The second request's value; empty when it has none. */
            after: string;
        } | {
            /** @constant */
            cause: "recipe";
            /** @description The first recipe's name and hash. */
            before: string;
            /** @description The second recipe's name and hash. */
            after: string;
        } | {
            /** @constant */
            cause: "viewer";
        } | {
            /** @constant */
            cause: "data";
            /** @description The first pack's state. */
            before: components["schemas"]["Revision"];
            /** @description The second pack's state. */
            after: components["schemas"]["Revision"];
        } | {
            /** @constant */
            cause: "time";
            /**
             * Format: int64
             * @description The first pack's time, in Unix milliseconds.
             */
            before: number;
            /**
             * Format: int64
             * @description The second pack's time, in Unix milliseconds.
             */
            after: number;
        } | {
            /** @constant */
            cause: "tokenizer";
            /** @description The first pack's tokenizer. */
            before: string;
            /** @description The second pack's tokenizer. */
            after: string;
        } | {
            /** @constant */
            cause: "embedder";
            /** @description The first pack's model. */
            before: string;
            /** @description The second pack's model. */
            after: string;
        } | {
            /** @constant */
            cause: "reranker";
            /** @description The first pack's reranker. */
            before: string;
            /** @description The second pack's reranker. */
            after: string;
        } | {
            /** @constant */
            cause: "packing";
            /**
             * Format: uint32
             * @description The first pack's version.
             */
            before: number;
            /**
             * Format: uint32
             * @description The second pack's version.
             */
            after: number;
        };
        /** @description A change of one candidate between two packs. */
        Change: {
            /** @constant */
            change: "entered";
            /** @description The reason why the first pack left it out, or that it was not found. */
            before: string;
        } | {
            /** @constant */
            change: "left";
            /** @description The reason why the second pack left it out, or that it was not found. */
            after: string;
        } | {
            /** @constant */
            change: "resized";
            /**
             * Format: uint32
             * @description Its tokens in the first pack.
             */
            before: number;
            /**
             * Format: uint32
             * @description Its tokens in the second pack.
             */
            after: number;
        } | {
            /** @constant */
            change: "rewritten";
        } | {
            /** @constant */
            change: "rescored";
            /**
             * Format: double
             * @description The first pack's score.
             */
            before: number;
            /**
             * Format: double
             * @description The second pack's score.
             */
            after: number;
            /** @description The components that differ, with both values. */
            parts: {
                [key: string]: [
                    number,
                    number
                ];
            };
        };
        /** @description A citation (K7, X7). */
        Citation: {
            /** @description The citation id in the text, brackets included. */
            id: string;
            /** @description The id of the cited item. */
            item: string;
            /** @description The item's title. */
            title?: string | null;
            /** @description The item's path. */
            path?: string | null;
            /** @description The item's ancestors and headings, outermost first. */
            breadcrumb?: string[];
            /** @description The first and the last line. */
            lines?: number[] | null;
            /** @description The first and the last page, or slide, of a document that has them. */
            pages?: number[] | null;
            /** @description The byte ranges of the item's text that are in the pack. */
            spans: number[][];
        };
        /** @description The citations that a response used. */
        Citations: {
            /** @description Every citation, and whether the response used it. */
            citations: components["schemas"]["PrimeCitation"][];
            /** @description A block that lists the used ones. */
            sources: string;
        };
        /** @description A model's response, and the receipt of the pack it was given. */
        CitationsRequest: {
            /** @description The id of the pack's receipt. */
            receipt: string;
            /** @description The text that the model wrote. */
            response: string;
        };
        /** @description A part of a candidate's text in a pack. */
        Content: [
            number,
            number
        ] | string;
        /** @description A conversation to extract memories from. */
        ConversationToExtract: {
            /** @description The turns, oldest first. */
            conversation: components["schemas"]["Turn"][];
            /**
             * @description The conversation's id, kept with each memory.
             * @default null
             */
            conversationId?: string | null;
            /**
             * @description The memories' owner, who alone can read them; the key's user by default.
             * @default null
             */
            user?: string | null;
            /**
             * @description Whether nothing is stored: the result shows what would be.
             * @default false
             */
            dryRun?: boolean;
        };
        /** @description A token count. */
        Count: {
            /**
             * Format: uint32
             * @description The count.
             */
            tokens: number;
            /** @description The tokenizer that counted the tokens. */
            tokenizer: string;
            /** @description The accuracy of the count. */
            accuracy: string;
        };
        /** @description The embedding model of new workspaces. */
        DefaultModel: {
            /** @description The model: its name, version and dimensions. */
            model: string;
        };
        /** @description The changes since the previous pack of the conversation. */
        Delta: {
            /** @description The id of the previous pack's receipt. */
            previous: string;
            /**
             * Format: uint
             * @description The number of bytes at the beginning that are unchanged.
             */
            keptBytes: number;
            /** @description The text after these bytes, which is all that a holder of the previous pack needs. */
            context: string;
            /** @description The candidates that are new in the pack. */
            added: string[];
            /** @description The candidates that are no longer in the pack. */
            removed: string[];
        };
        /** @description The differences between two packs. */
        Difference: {
            /** @description Whether the two packs have the same bytes. */
            same: boolean;
            /** @description The inputs that differ. */
            causes: components["schemas"]["Cause"][];
            /** @description The changes, by candidate. */
            candidates: {
                [key: string]: components["schemas"]["Change"][];
            };
        };
        /** @description What erasing a user did in one workspace. */
        ErasedWorkspace: {
            /** @description Its name. */
            workspace: string;
            /**
             * Format: uint
             * @description Items that were erased, because nobody else could read them.
             */
            erased: number;
            /**
             * Format: uint
             * @description Items of the user that others can read; they stay without the user's name.
             */
            kept: number;
            /**
             * Format: uint
             * @description Receipts that were removed.
             */
            receipts: number;
        };
        /** @description A text to count, or a payload whose final string is counted. */
        EstimateRequest: {
            /**
             * @description The text.
             * @default null
             */
            text?: string | null;
            /** @description The result of a build. */
            payload?: components["schemas"]["PayloadText"] | null;
            /**
             * @description The model that will read the text.
             * @default null
             */
            model?: string | null;
            /**
             * @description The tokenizer, if no model is named.
             * @default null
             */
            tokenizer?: string | null;
        };
        /** @description An event of an item. */
        Event: {
            /** @description The item's id. */
            item: string;
            /**
             * @description The user; the caller by default.
             * @default null
             */
            user?: string | null;
            /** @description The kind of event. */
            happening: components["schemas"]["EventKind"];
            /**
             * @description The time of the event; now by default.
             * @default null
             */
            at?: components["schemas"]["Moment"] | null;
        };
        /** @description The kind of an event. */
        EventKind: "viewed" | "edited" | "used" | "useful" | "not_useful";
        /** @description Events to record. */
        Events: {
            /** @description The events. */
            events: components["schemas"]["Event"][];
        };
        /** @description The memories of a conversation. */
        ExtractedMemories: {
            /** @description The memories that say something new. */
            memories: components["schemas"]["ExtractedMemory"][];
            /** @description The memories that are known already, each with its reason. */
            leftOut: components["schemas"]["LeftOut"][];
            /** @description Whether they were stored. */
            stored: boolean;
            /** @description The model that found them. */
            model: string;
        };
        /** @description A memory that a model found in a conversation. */
        ExtractedMemory: {
            /** @description Its id. */
            id: string;
            /** @description Its text. */
            content: string;
            /** @description Its type. */
            type: string;
            /**
             * Format: double
             * @description How sure the model is.
             */
            confidence: number;
            /**
             * Format: uint
             * @description The turn it comes from, from zero.
             */
            turn?: number | null;
            /**
             * Format: int64
             * @description When it happened or was said, in Unix milliseconds.
             */
            createdAt: number;
            /** @description The older memories that it makes out of date. */
            supersedes: string[];
        };
        /** @description Feedback: whether an item was useful. */
        Feedback: {
            /** @description The item's id. */
            contextItemId: string;
            /** @description Whether the item was useful. */
            useful: boolean;
            /**
             * @description The user; the key's own by default.
             * @default null
             */
            user?: string | null;
        };
        /** @description A filter on a field of items. */
        FieldFilter: {
            /**
             * @description The field: `due`, `done`, `assignee`, `priority`, `status`, `author`, `type`, `kind`,
             *     `changed` or `created`.
             */
            field: string;
            /** @description The accepted values. */
            values?: string[];
            /** @description The start of the range, for dates. */
            start?: string | null;
            /** @description The end of the range, for dates. */
            end?: string | null;
        };
        /** @description What became of uploaded files. */
        FilesAdded: {
            /**
             * Format: uint64
             * @description Items that were stored.
             */
            stored: number;
            /**
             * Format: uint64
             * @description Items that were stored already.
             */
            unchanged: number;
            /**
             * Format: uint64
             * @description Items of an earlier file of the same name that this one does not have.
             */
            deleted: number;
            /** @description Files and rows that were not read, with the reason and what to do. */
            skipped: string[];
            /** @description What else a person should know, such as pages that need OCR. */
            notices: string[];
        };
        /** @description What the user is looking at (W9). */
        Focus: {
            /** @description The id of the block in focus. */
            blockId?: string | null;
            /** @description The id of the open page. */
            pageId?: string | null;
            /** @description The id of the open database. */
            databaseId?: string | null;
        };
        /** @description The packs of several budgets, as figures. */
        Frontier: {
            /** @description One point for each budget, smallest first. Infeasible budgets are left out. */
            points: components["schemas"]["FrontierPoint"][];
        };
        /** @description The figures of the pack at one budget. */
        FrontierPoint: {
            /**
             * Format: uint32
             * @description The budget.
             */
            budget: number;
            /**
             * Format: uint32
             * @description Tokens of the pack.
             */
            tokens: number;
            /**
             * Format: uint
             * @description Candidates in it.
             */
            items: number;
            /**
             * Format: double
             * @description Its value.
             */
            value: number;
            /**
             * Format: double
             * @description The share of all candidates' value that is in the pack.
             */
            coverage: number;
        };
        /** @description A request, and the budgets to pack it at. */
        FrontierRequest: {
            /**
             * @description The request, in the recipe's own shape.
             * @default {}
             */
            request?: {
                [key: string]: unknown;
            };
            /**
             * @description The budgets; 25 from the smallest to the largest possible by default.
             * @default []
             */
            budgets?: number[];
        };
        /** @description Items and kinds to include, exclude or prioritize (W9). */
        Hints: {
            /** @description Kinds that rank higher. */
            prioritizeTypes?: string[];
            /** @description Only items that changed in this range. */
            timeRange?: components["schemas"]["Range"] | null;
            /** @description The ids of items that must be candidates. */
            includeBlocks?: string[];
            /** @description The ids of items that must not be in the pack. */
            excludeBlocks?: string[];
            /**
             * Format: uint32
             * @description The number of steps that relations are followed.
             */
            maxDepth?: number | null;
        };
        /** @description A stored item. */
        Item: {
            /** @description The item's id. */
            id: string;
            /** @description The item's kind. */
            kind: string;
            /** @description The item's title. */
            title: string;
            /** @description The item's text. */
            body: string;
            /** @description Other fields, as the kind defines them. */
            fields: {
                [key: string]: unknown;
            };
            /** @description The origin, such as a file path. */
            path?: string | null;
            /** @description The id of the parent, if the viewer can read it. */
            parent?: string | null;
            /**
             * Format: int64
             * @description The item's position among its siblings.
             */
            position: number;
            /** @description The creation time. */
            created?: string | null;
            /** @description The time of the last change. */
            updated?: string | null;
            /**
             * Format: double
             * @description The confidence of the item's source, from 0 to 1.
             */
            confidence?: number | null;
            /**
             * @description The principals who may read the item. Only callers who can read everything see them; writes
             *     of others leave them unchanged.
             */
            readers?: string[] | null;
            /** @description The trust level of the text. */
            trust: string;
            /** @description Whether the item is active. */
            active: boolean;
            /**
             * @description The revision of this version, for callers who can read everything. Others get a token that
             *     changes with the content that they can read.
             */
            revision: components["schemas"]["Revision"];
        };
        /** @description A page of items. */
        ItemPage: {
            /** @description The items. */
            items: components["schemas"]["Item"][];
            /** @description The value of `after` for the next page; absent on the last page. */
            next?: string | null;
        };
        /** @description Counts for a layer. */
        Layer: {
            /** @description The layer's name. */
            name: string;
            /** @description The layer's title. */
            title: string;
            /**
             * Format: uint32
             * @description Tokens of the layer's section.
             */
            tokens: number;
            /**
             * Format: uint32
             * @description Tokens of all its candidates in full.
             */
            wanted: number;
            /**
             * Format: uint
             * @description The number of candidates.
             */
            candidates: number;
            /**
             * Format: uint
             * @description The number of items in the pack.
             */
            items: number;
            /**
             * Format: uint
             * @description The number of these that are truncated.
             */
            cut: number;
            /**
             * Format: uint
             * @description The number of candidates that the budget excluded.
             */
            removed: number;
        };
        /** @description The ledger's line for one candidate. */
        LedgerLine: {
            /** @description The item's id. */
            item: string;
            /**
             * Format: uint32
             * @description The number of the chunk; absent for the whole item.
             */
            chunk?: number | null;
            /** @description The layer that the candidate belongs to. */
            layer: string;
            /** @description The item's kind. */
            kind: string;
            /** @description The collectors that found it, each with its rank in their list. */
            found: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description The candidate's score.
             */
            score: number;
            /** @description The components of the score, each with value and weight. */
            parts: {
                [key: string]: [
                    number,
                    number
                ];
            };
            /** @description The outcome: `in`, `cut`, `essential` or `out`. */
            outcome: string;
            /** @description The reason why it was left out, or the budget from which it is whole. */
            why?: string | null;
            /** @description The reason as a code for programs, such as `over_budget` or `repeats`. */
            code?: string | null;
            /**
             * Format: uint32
             * @description The budget from which it is whole, if the budget decides that.
             */
            wholeFrom?: number | null;
            /** @description The candidate or layer that is in the pack instead. */
            instead?: string | null;
            /**
             * Format: uint32
             * @description The candidate's tokens in the pack.
             */
            tokens: number;
            /**
             * Format: uint32
             * @description The candidate's tokens in full.
             */
            tokensWhole: number;
            /** @description The last candidate that was selected before the budget excluded this one. */
            displacedBy?: string | null;
            /** @description A hash of the candidate's text. */
            text?: string | null;
            /** @description The shown parts of the item, if the pack shows only a part. */
            content?: components["schemas"]["Content"][];
        };
        /** @description A memory that was not stored. */
        LeftOut: {
            /** @description The memory's id. */
            id: string;
            /** @description `repeats` (says what another does) or `echoes` (was in a pack). */
            reason: string;
            /** @description The item that it repeats or echoes. */
            of: string[];
        };
        /** @description Something that is left. */
        Leftover: {
            /** @description The file, or the workspace. */
            place: string;
            /** @description What was found there. */
            what: string;
            /** @description Why it is there, as far as it is known. */
            why: string;
        };
        /** @description A link between two items. */
        Link: {
            /** @description The id of the source item. */
            from: string;
            /** @description The id of the target item. */
            to: string;
            /** @description The link type: `link`, `relation`, `supports`, … */
            sort: string;
        };
        /** @description Links to add and to remove. */
        Links: {
            /** @description Links to add. Existing links are kept. */
            add?: components["schemas"]["Link"][];
            /** @description Links to remove. */
            remove?: components["schemas"]["Link"][];
        };
        /** @description A position in the final string, and a hash of the text before it. */
        Mark: [
            number,
            string
        ];
        /** @description A memory (M1). */
        Memory: {
            /** @description The memory's id. */
            id: string;
            /** @description The memory's text. */
            content: string;
            /** @description The type, such as `fact` or `preference`. */
            type: string | null;
            /**
             * Format: double
             * @description The confidence of the memory's source, from 0 to 1.
             */
            confidence: number | null;
            /** @description The creation time. */
            created_at: string | null;
            /** @description The conversation that the memory comes from. */
            conversation: string | null;
        };
        /** @description The result of `memory`: memories for a prompt (M9). */
        MemoryContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenCount: number;
            /** @description The memories in the pack, best first. */
            memories: components["schemas"]["MemorySearchResult"][];
            /** @description Whether the budget truncated or excluded a candidate. */
            truncated: boolean;
            /** @description The name of the template that rendered the memories. */
            template: string;
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description A preview of a memory context, with the scores that decided it (M9). */
        MemoryPreview: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenCount: number;
            /** @description The memories in the pack, best first. */
            memories: components["schemas"]["MemorySearchResult"][];
            /** @description Whether the budget truncated or excluded a candidate. */
            truncated: boolean;
            /** @description The name of the template that rendered the memories. */
            template: string;
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
            /** @description The ids of the memories in the pack. */
            memoryIds: string[];
            /** @description The score of every relevant memory, by id. */
            rankingScores: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description The used part of the budget, in percent.
             */
            budgetUsed: number;
        };
        /** @description A memory that is related to another (M7). */
        MemoryRelated: {
            /** @description The memory. */
            memory: components["schemas"]["Memory"];
            /** @description The link that relates the two. */
            relationship: components["schemas"]["Relationship"];
            /**
             * Format: uint64
             * @description The number of links between the two.
             */
            depth: number;
        };
        /** @description A request of a chat assistant (M3). */
        MemoryRequest: {
            /**
             * @description The user's message.
             * @default
             */
            query?: string;
            /** @description A vector to search with in place of the query's own (M2). */
            vector?: number[] | null;
            /**
             * Format: uint
             * @description Most memories that are retrieved, related ones excluded. When left out, a search returns 10
             *     and a context as many as fit the budget.
             */
            limit?: number | null;
            /** @description Only memories of these types. */
            memoryTypes?: string[];
            /** @description Only memories from this moment on. */
            dateFrom?: components["schemas"]["Moment"] | null;
            /** @description Only memories from before this moment. */
            dateTo?: components["schemas"]["Moment"] | null;
            /**
             * Format: double
             * @description Only memories with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only memories of this conversation. */
            conversationId?: string | null;
            /**
             * @description Whether related memories are included.
             * @default false
             */
            includeRelationships?: boolean;
            /**
             * Format: uint32
             * @description The number of steps that relationships are followed; 1 when left out.
             */
            relationshipDepth?: number | null;
            /**
             * @description A template: `chat`, `detailed`, `summary`, the name of a registered one, or the template
             *     itself.
             */
            template?: components["schemas"]["TemplateOrName"] | null;
            /**
             * Format: uint32
             * @description The budget in tokens; 2,000 when left out.
             */
            tokenBudget?: number | null;
            /**
             * @description A ranker: `default`, `bySimilarity`, `byRecency`, `byConfidence`, a registered one, or
             *     `{"expression": "…"}`.
             */
            ranker?: components["schemas"]["Ranker"] | null;
            /**
             * @description Whether type, confidence and time are shown. Without a template, this selects the template
             *     `detailed`.
             * @default false
             */
            includeMetadata?: boolean;
            /**
             * @description The user with whose permissions everything is read. Without a user and groups, it is read as the
             *     owner of the data.
             */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request, such as `assist`, `chat`, `search` or `automate`. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the thread: the subject `thread`. */
            threadId?: string | null;
            /** @description The id of the opportunity: the subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The id of the current context. */
            currentContext?: string | null;
            /** @description The facts of the situation by name, for the conditions of rules. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description The results of searches for memories. */
        MemoryResults: {
            /** @description The matching memories of each query, in order, best first. */
            results: components["schemas"]["MemorySearchResult"][][];
        };
        /** @description Searches for memories. */
        MemorySearch: {
            /** @description The queries, each with its own options. */
            searches: components["schemas"]["MemoryRequest"][];
        };
        /** @description A memory that matches a search. */
        MemorySearchResult: {
            /** @description The memory. */
            memory: components["schemas"]["Memory"];
            /**
             * Format: double
             * @description The similarity to the query, from 0 to 1.
             */
            score: number;
            /**
             * Format: double
             * @description The score after ranking.
             */
            rank: number;
            /** @description The remark that the pack adds to the memory, such as `outdated since 2025-09-07`. */
            note: string | null;
            /**
             * @description The related memories, if the request asks for them: those that were included because of this
             *     one, and other matches that are linked with it.
             */
            relationships: components["schemas"]["MemoryRelated"][];
        };
        /** @description The text of a message, whole or in parts. */
        MessageContent: string | components["schemas"]["TextBlock"][];
        /** @description The role of a message's speaker. */
        MessageRole: "system" | "user" | "assistant";
        /** @description A cap on what is used of models in a day (UTC), and what was used of it today. */
        ModelAllowance: {
            /**
             * Format: uint64
             * @description Tokens used today.
             */
            tokens: number;
            /**
             * Format: uint64
             * @description Most tokens of a day.
             */
            tokensPerDay?: number | null;
            /**
             * Format: double
             * @description Cost of today, by the prices of the settings.
             */
            cost: number;
            /**
             * Format: double
             * @description Highest cost of a day.
             */
            costPerDay?: number | null;
            /** @description When the count begins again. */
            until: string;
        };
        /**
         * @description What models answered, as a receipt keeps it. A call that failed is kept as `null`: the fallback is part of the
         *     pack.
         */
        ModelAnswers: {
            /** @description Vectors of queries in half precision, as hexadecimal digits, by a hash of the text. */
            vectors?: {
                [key: string]: string | null;
            };
            /** @description Verdicts on conditions, by the condition. */
            verdicts?: {
                [key: string]: components["schemas"]["RecordedVerdict"] | null;
            };
            /** @description Scores of a reranker, by a hash of the query and the text. */
            scores?: {
                [key: string]: number | null;
            };
            /** @description Whether summaries by a model were looked up. They are items, so the state of the store has them. */
            summaries?: boolean;
        };
        /** @description A change to another embedding model. Until it is done the old one answers. */
        ModelChange: {
            /** @description The model that the workspace changes to. */
            to: string;
            /**
             * Format: uint64
             * @description Versions of items that have new vectors.
             */
            done: number;
            /**
             * Format: uint64
             * @description All versions; 0 until the change begins.
             */
            total: number;
            /** @description Why it failed. The old model stays, and a new try continues where this one stopped. */
            failure?: string | null;
        };
        /** @description The name of an embedding model. */
        ModelName: {
            /**
             * @description `built-in`, the name of a model in the server's data folder, or `embed` for the one that its
             *     settings name.
             */
            name: string;
        };
        /** @description What was used of a model. */
        ModelUsage: {
            /**
             * Format: uint64
             * @description Calls that were made, retries included.
             */
            calls: number;
            /**
             * Format: uint64
             * @description Calls that failed.
             */
            failures: number;
            /**
             * Format: uint64
             * @description Calls that were not made, because a cap was reached.
             */
            refused?: number;
            /**
             * Format: uint64
             * @description Answers from a cache.
             */
            cacheHits: number;
            /**
             * Format: uint64
             * @description Tokens of input.
             */
            tokensIn: number;
            /**
             * Format: uint64
             * @description Tokens of output.
             */
            tokensOut: number;
            /**
             * Format: double
             * @description Milliseconds spent waiting for answers.
             */
            ms: number;
            /**
             * Format: double
             * @description The cost, where prices are set.
             */
            cost?: number | null;
        };
        /** @description A moment, in any of these forms. */
        Moment: string | number;
        /** @description A page of names. */
        Names: {
            /** @description The names, sorted. */
            names: string[];
            /** @description The value of `after` for the next page; absent on the last page. */
            next?: string | null;
        };
        /** @description An item to store. */
        NewItem: {
            /** @description The item's id, unique in the workspace. An item with this id is replaced. */
            id: string;
            /** @description The kind: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, … */
            kind: string;
            /**
             * @description The item's title.
             * @default
             */
            title?: string;
            /**
             * @description The item's text.
             * @default
             */
            body?: string;
            /**
             * @description Other fields, as the kind defines them.
             * @default {}
             */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * @description The origin, such as a file path.
             * @default null
             */
            path?: string | null;
            /**
             * @description The id of the parent.
             * @default null
             */
            parent?: string | null;
            /**
             * Format: int64
             * @description The item's position among its siblings.
             * @default 0
             */
            position?: number;
            /**
             * @description The creation time.
             * @default null
             */
            created?: components["schemas"]["Moment"] | null;
            /**
             * @description The time of the last change.
             * @default null
             */
            updated?: components["schemas"]["Moment"] | null;
            /**
             * Format: double
             * @description The confidence of the item's source, from 0 to 1.
             * @default null
             */
            confidence?: number | null;
            /**
             * @description The principals who may read the item: `user:anna`, `group:sales`, `everyone`. When left out,
             *     everyone who may read its parent.
             * @default null
             */
            readers?: string[] | null;
            /**
             * @description The trust level of the text.
             * @default null
             */
            trust?: components["schemas"]["Trust"] | null;
            /**
             * @description Whether the item is active.
             * @default true
             */
            active?: boolean;
        };
        /** @description Memories to add. */
        NewMemories: {
            /**
             * @description The owner of the memories, who alone can read them; the key's user by default.
             * @default null
             */
            user?: string | null;
            /** @description The memories to add. */
            memories: components["schemas"]["NewMemory"][];
        };
        /** @description A memory to add. */
        NewMemory: {
            /** @description The memory's text. */
            content: string;
            /**
             * @description The memory's id; derived from its content by default. A memory with this id is replaced.
             * @default null
             */
            id?: string | null;
            /**
             * @description The type: `fact`, `preference`, `event`, …
             * @default null
             */
            type?: string | null;
            /**
             * Format: double
             * @description The confidence of the memory's source, from 0 to 1.
             * @default null
             */
            confidence?: number | null;
            /**
             * @description The conversation that the memory comes from.
             * @default null
             */
            conversationId?: string | null;
            /**
             * @description The creation time; now by default.
             * @default null
             */
            createdAt?: components["schemas"]["Moment"] | null;
        };
        /** @description The result of recording feedback. */
        Noted: {
            /** @description Always true: a failure is a problem (K8). */
            success: boolean;
        };
        /** @description A notice about a result. */
        Notice: {
            /** @description Always `warning`, like the name of the event in a stream. */
            type: string;
            /** @description The notice's code, for programs. */
            code: string;
            /** @description The message, for people. */
            message: string;
            /** @description Details, for programs. */
            details?: unknown;
            /** @description Things that the caller can do. */
            suggestions?: string[];
        };
        /** @description Part of a body of OpenAI's Chat Completions API. */
        OpenAiMessages: {
            /**
             * @description The stable part of the pack's text as the system's message, the conversation, and the rest of
             *     the text before the query. Caching is automatic and by prefix, so the order is all that counts.
             */
            messages: components["schemas"]["ProviderMessage"][];
            /** @description A hash of workspace and recipe, so that requests with equal prefixes reach one cache. */
            prompt_cache_key: string;
        };
        /** @description A past state: a moment, or the revision of an earlier answer. */
        PastState: components["schemas"]["Moment"] | {
            /** @description The `revision` of that answer. */
            revision: components["schemas"]["Revision"];
        };
        /**
         * @description The part of a payload that is validated. Other fields are ignored, so that a client can send
         *     back a whole result, or only the fields of the application's own document.
         */
        Payload: {
            /** @description The payload's sections. */
            sections: components["schemas"]["PayloadSection"][];
            /** @description The payload's metadata. */
            metadata: components["schemas"]["PayloadMetadata"];
            /** @description The final string. */
            serialized: string;
            /** @description The limit and the tokenizer of the payload, if known. */
            assembly?: components["schemas"]["PayloadAssembly"] | null;
        };
        /** @description The limit and the tokenizer of a payload. */
        PayloadAssembly: {
            /**
             * Format: uint32
             * @description Most tokens of the final string.
             */
            limit: number;
            /** @description The tokenizer that counted the tokens. */
            tokenizer: string;
        };
        /** @description A block in a section of a payload. */
        PayloadItem: {
            /** @description The block's id. */
            blockId: string;
            /**
             * @description The block's type.
             * @default null
             */
            blockType?: string | null;
            /** @description The block's text in the pack. */
            content: string;
        };
        /** @description The metadata of a payload that is validated. */
        PayloadMetadata: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /**
             * Format: uint
             * @description The number of blocks in the pack.
             */
            blocksIncluded: number;
            /**
             * Format: uint
             * @description The number of candidate blocks.
             * @default null
             */
            blocksConsidered?: number | null;
        };
        /** @description A section of a payload. */
        PayloadSection: {
            /** @description The type of the section. */
            type: string;
            /** @description The section's title. */
            title: string;
            /** @description The section's items, in order. */
            items: components["schemas"]["PayloadItem"][];
            /**
             * Format: uint32
             * @description The section's tokens.
             */
            tokenCount: number;
        };
        /** @description The part of a payload that is counted; other fields are ignored. */
        PayloadText: {
            /** @description The final string, under the name that all recipes use. */
            context?: string | null;
            /** @description The final string, under the name that `workspace` also uses. */
            serialized?: string | null;
        };
        /** @description The result of `prime` (K8). */
        PrimeAnswer: {
            /** @description The ranked list. */
            data: components["schemas"]["PrimeContext"];
            /** @description Counts of tokens, items and citations. */
            meta: components["schemas"]["PrimeMeta"];
            /** @description The final string. */
            context: string;
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description A citation (K7). */
        PrimeCitation: {
            /** @description The citation id in the text, such as `[fil-1x9k2]`. */
            id: string;
            /** @description The id of the cited item. */
            item: string;
            /** @description The source, for people: a title, a speaker with a time, a path or an id. */
            source: string;
            /** @description The type of the source: `file`, `message` or `document`. */
            type: string;
            /** @description The item's path. */
            path?: string | null;
            /** @description The most relevant excerpt of the item, with hits between `<<<` and `>>>`. */
            excerpt?: string | null;
            /**
             * Format: double
             * @description The item's score.
             */
            relevance: number;
            /** @description Whether a response cites it. */
            usedInResponse: boolean;
        };
        /** @description One ranked list of items (K6). */
        PrimeContext: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /** @description The items, in the order of the text. */
            items: components["schemas"]["PrimeItem"][];
            /** @description The citations of the items. */
            citations: components["schemas"]["PrimeCitation"][];
            /** @description The number of items by the way they were found. */
            stats: components["schemas"]["PrimeStats"];
        };
        /** @description An item of the ranked list. */
        PrimeItem: {
            /** @description The item's id. */
            id: string;
            /** @description The type: `reference`, `file`, `chunk`, `message`, or the item's own kind. */
            type: string;
            /** @description The item's text in the pack. */
            content: string;
            /** @description The most relevant excerpt of the item, with hits between `<<<` and `>>>`. */
            excerpt?: string | null;
            /** @description The source, for people: a title, a speaker with a time, a path or an id. */
            source: string;
            /**
             * Format: double
             * @description The item's score.
             */
            relevance: number;
            /**
             * Format: uint32
             * @description The item's tokens in the pack.
             */
            tokens: number;
            /** @description The item's metadata. */
            metadata: components["schemas"]["PrimeMetadata"];
        };
        /** @description Counts of tokens, items and citations. */
        PrimeMeta: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenUsage: number;
            /**
             * Format: uint
             * @description The number of items in the pack.
             */
            sourceCount: number;
            /**
             * Format: uint
             * @description The number of citations.
             */
            citationCount: number;
        };
        /** @description The metadata of an item. */
        PrimeMetadata: {
            /** @description The item's path. */
            path?: string | null;
            /** @description The time of the last change, or else of creation. */
            createdAt?: string | null;
            /** @description The keywords of the query that occur in the item. */
            matchedKeywords: string[];
            /**
             * Format: uint32
             * @description The item's best rank in a search, from 1.
             */
            searchRank?: number | null;
            /** @description The first and the last line. */
            lines?: number[] | null;
            /** @description The first and the last page, or slide, of a document that has them. */
            pages?: number[] | null;
            /** @description The collectors that found the item. */
            foundBy: string[];
        };
        /** @description A request of an agent for one message. */
        PrimeRequest: {
            /** @description The id of the thread. */
            threadId?: string | null;
            /**
             * @description The user's message.
             * @default
             */
            message?: string;
            /**
             * @description The query in the user's words; may be empty.
             * @default
             */
            query?: string;
            /**
             * @description The user with whose permissions everything is read. Without a user and groups, it is read as the
             *     owner of the data.
             */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request, such as `assist`, `chat`, `search` or `automate`. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the opportunity: the subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The id of the current context. */
            currentContext?: string | null;
            /** @description The facts of the situation by name, for the conditions of rules. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description Only items with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description Most items that a search returns; the recipe's own limit when left out.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens, reserves included; the recipe's own when left out.
             */
            tokenBudget?: number | null;
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description A template in place of the layers' own: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time are added after texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker in place of the layers' own: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description The number of items by the way they were found. */
        PrimeStats: {
            /**
             * Format: uint
             * @description Items that the message refers to explicitly.
             */
            explicitCount: number;
            /**
             * Format: uint
             * @description Items that a search found.
             */
            searchCount: number;
            /**
             * Format: uint
             * @description Items of the thread's history.
             */
            historyCount: number;
            /**
             * Format: uint
             * @description Items that were found and left out.
             */
            excludedCount: number;
        };
        /** @description A problem as JSON. */
        Problem: {
            /** @description The code, under the name that RFC 9457 defines. */
            type: string;
            /** @description The stable code of this type of problem. */
            code: string;
            /** @description The title of this type of problem. */
            title: string;
            /**
             * Format: uint16
             * @description The status of the response.
             */
            status: number;
            /** @description What happened in this case, and what to do. */
            detail: string;
            /** @description The detail, under the usual name of error messages (M11). */
            message: string;
            /** @description The field that caused the problem. */
            field?: string | null;
            /**
             * Format: uint64
             * @description The line of a streamed body that caused the problem, from 1.
             */
            line?: number | null;
            /**
             * Format: uint64
             * @description The number of lines of a streamed body that are stored.
             */
            stored?: number | null;
            /**
             * Format: uint32
             * @description The smallest sufficient budget.
             */
            least?: number | null;
            /** @description The name of the missing template. */
            template?: string | null;
            /** @description The available names, if a template or recipe does not exist. */
            available?: string[] | null;
        };
        /** @description The use of the budget. */
        ProposalBudgetStatus: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budgetLimit: number;
            /**
             * @description Whether the candidates need more than the budget: something was truncated, or foundational
             *     text alone is larger.
             */
            isOverBudget: boolean;
            /** @description The categories that were truncated, in the order of truncation. */
            truncatedCategories: string[];
            /** @description The losses of each truncated category. */
            truncationDetails: components["schemas"]["ProposalTruncationDetail"][];
        };
        /** @description The context of a proposal (P11). */
        ProposalContext: {
            /** @description The company's profile, if there is one. */
            companyProfile: unknown;
            /** @description The brand's settings, if there are any. */
            brandContext: unknown;
            /** @description The conversations and documents of the deal, newest first. */
            dealContext: string;
            /** @description The products, most relevant first. */
            products: unknown[];
            /** @description The battlecards of competitors; those that the deal names come first. */
            competitive: unknown[];
            /** @description The sales playbooks. */
            playbooks: unknown[];
            /** @description The patterns of similar deals that were won. */
            historicalPatterns: unknown[];
            /** @description The use of the budget. */
            budgetStatus: components["schemas"]["ProposalBudgetStatus"];
            /** @description The number of items that were found. */
            retrievalMetrics: components["schemas"]["ProposalRetrievalMetrics"];
            /** @description Notices for the user (P12). */
            warnings: components["schemas"]["Notice"][];
            /** @description The final string. */
            context: string;
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /**
         * @description A request of a proposal writer. The field names of the application's own document are accepted
         *     too.
         */
        ProposalRequest: {
            /**
             * @description The id of the opportunity.
             * @default
             */
            opportunityId?: string;
            /**
             * @description The task of the writer.
             * @default
             */
            userPrompt?: string;
            /**
             * Format: uint32
             * @description The budget in tokens; 32,000 when left out.
             */
            targetBudget?: number | null;
            /**
             * Format: uint32
             * @description Tokens reserved for the system prompt; 1,000 when left out.
             */
            systemPromptTokens?: number | null;
            /** @description The user's weight for each category: 1 is the default (P17). */
            categoryPriorities?: {
                [key: string]: number;
            };
            /**
             * @description The query in the user's words; may be empty.
             * @default
             */
            query?: string;
            /**
             * @description The user with whose permissions everything is read. Without a user and groups, it is read as the
             *     owner of the data.
             */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request, such as `assist`, `chat`, `search` or `automate`. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the thread: the subject `thread`. */
            threadId?: string | null;
            /** @description The id of the current context. */
            currentContext?: string | null;
            /** @description The facts of the situation by name, for the conditions of rules. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description Only items with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description Most items that a search returns; the recipe's own limit when left out.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens, reserves included; the recipe's own when left out.
             */
            tokenBudget?: number | null;
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description A template in place of the layers' own: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time are added after texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker in place of the layers' own: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description The number of items that were found. */
        ProposalRetrievalMetrics: {
            /**
             * Format: uint
             * @description Found items of the deal.
             */
            dealContextItems: number;
            /**
             * Format: uint
             * @description Found products.
             */
            productsRetrieved: number;
            /**
             * Format: uint
             * @description Found battlecards.
             */
            battlecardsRetrieved: number;
            /**
             * Format: uint
             * @description Found playbooks.
             */
            playbooksRetrieved: number;
        };
        /** @description The losses of a truncated category. */
        ProposalTruncationDetail: {
            /** @description The name of the category. */
            category: string;
            /**
             * Format: uint32
             * @description Its tokens without truncation.
             */
            originalTokens: number;
            /**
             * Format: uint32
             * @description Its tokens in the pack.
             */
            finalTokens: number;
            /**
             * Format: uint
             * @description The number of its items that were left out.
             */
            itemsRemoved: number;
        };
        /** @description The server's metadata as a protected resource (RFC 9728). */
        ProtectedResource: {
            /** @description The resource's URL. */
            resource: string;
            /** @description The servers that issue tokens for it. */
            authorization_servers: string[];
            /** @description The scopes that a token can have. */
            scopes_supported: string[];
            /** @description The ways in which a token can be sent. */
            bearer_methods_supported: string[];
        };
        /** @description A message. */
        ProviderMessage: {
            /** @description The speaker's role. */
            role: components["schemas"]["MessageRole"];
            /** @description The text. */
            content: components["schemas"]["MessageContent"];
        };
        /**
         * @description Part of a request body, in a provider's own form.
         * @example {
         *       "system": [
         *         {
         *           "type": "text",
         *           "text": "## Company\n\nHarrowmere builds lighthouses. …\n\n",
         *           "cache_control": {
         *             "type": "ephemeral"
         *           }
         *         },
         *         {
         *           "type": "text",
         *           "text": "## What was found\n\nDiscounts above 10 % need the CFO.\n"
         *         }
         *       ],
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "who approves a discount?"
         *         }
         *       ]
         *     }
         */
        ProviderMessages: components["schemas"]["AnthropicMessages"] | components["schemas"]["OpenAiMessages"];
        /** @description The estimated quality of a pack. */
        Quality: {
            /**
             * Format: double
             * @description The estimated probability that the candidates are relevant to the query, if it was measured.
             */
            relevance?: number | null;
            /**
             * Format: double
             * @description The part of the candidates' value that is in the pack.
             */
            coverage: number;
            /**
             * Format: double
             * @description The part of the pack that repeats earlier text.
             */
            redundancy: number;
            /**
             * Format: double
             * @description The recency of the texts.
             */
            freshness: number;
            /**
             * Format: double
             * @description The used part of the budget.
             */
            budgetUse: number;
            /**
             * Format: double
             * @description One score that combines the others.
             */
            score: number;
        };
        /** @description A range of time. */
        Range: {
            /** @description The start, inclusive. */
            start?: components["schemas"]["Moment"] | null;
            /** @description The end, exclusive. */
            end?: components["schemas"]["Moment"] | null;
        };
        /** @description A ranker: the name of one, or an expression (M6). */
        Ranker: string | {
            /** @description The expression, such as `semantic * 0.7 + recency * 0.3`. */
            expression: string;
        };
        /** @description A ranker as an expression. */
        RankerText: {
            /** @description The expression over the components of a score, such as `semantic * 0.7 + recency * 0.3`. */
            expression: string;
        };
        /** @description Weights of the components of the ranker `default`, each from 0 to 1 (M6). */
        RankingOptions: {
            /**
             * Format: double
             * @description The weight of semantic similarity; 0.6 when left out.
             */
            similarityWeight?: number | null;
            /**
             * Format: double
             * @description The weight of recency, 1 / (1 + days); 0.2 when left out.
             */
            recencyWeight?: number | null;
            /**
             * Format: double
             * @description The weight of the memory's confidence; 0.2 when left out.
             */
            confidenceWeight?: number | null;
        };
        /** @description A receipt: a record of what a pack was made from. */
        Receipt: {
            /**
             * Format: uint32
             * @description The version of the receipt format.
             */
            format: number;
            /** @description The receipt's id. */
            id: string;
            /**
             * Format: uint32
             * @description The version of the packing algorithm. Another version may give other bytes for the same
             *     request.
             */
            packing: number;
            /** @description The name of the recipe. */
            recipe: string;
            /** @description A hash of the recipe, templates and rankers included. */
            recipeHash: string;
            /** @description The request. */
            request: components["schemas"]["AnyRequest"];
            /** @description The principals of the viewer; absent for the owner. */
            viewer?: string[] | null;
            /** @description The state of the workspace, as the viewer's id of it. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: int64
             * @description The time of the request, in Unix milliseconds.
             */
            now: number;
            /** @description The tokenizer that counted the tokens. */
            tokenizer: string;
            /** @description The model that embedded the query. */
            embedder: string;
            /** @description The reranker, if one was used. */
            reranker?: string | null;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budget: number;
            /**
             * Format: uint32
             * @description Most tokens that the final string could have.
             */
            limit: number;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokens: number;
            /** @description A hash of everything that decided the pack. */
            inputs: string;
            /** @description A hash of the final string. */
            text: string;
            /** @description The nonce of the fences. */
            nonce?: string | null;
            /** @description The end of each item in the final string, with a hash of the text before it. */
            marks: components["schemas"]["Mark"][];
            /** @description The candidates: those in the pack in the order of the text, then the others. */
            ledger: components["schemas"]["LedgerLine"][];
            /**
             * Format: uint
             * @description The number of candidates that the ledger leaves out.
             */
            unlisted: number;
            /** @description What remote models answered; a replay uses it. */
            models?: components["schemas"]["ModelAnswers"] | null;
        };
        /** @description A recipe as TOML. */
        RecipeText: {
            /** @description The recipe's source. */
            source: string;
        };
        /** @description A verdict as a receipt keeps it. */
        RecordedVerdict: {
            /** @description `yes`, `no` or `undecided`. */
            answer: string;
            /**
             * Format: double
             * @description How sure the judge was.
             */
            sureness: number;
            /** @description The judge's reason. */
            reason?: string | null;
        };
        /** @description An item that was not stored. */
        RefusedItem: {
            /** @description Its id. */
            id: string;
            /** @description The reason, with the name of the field. */
            reason: string;
        };
        /** @description A link between two memories. */
        Relationship: {
            /** @description The type of the link, such as `supersedes`. */
            type: string;
            /** @description The direction: `outward` from the nearer memory to the farther, `inward` the other way. */
            direction: string;
            /** @description The id of the memory at which the link starts. */
            source: string;
            /** @description The id of the memory at which the link ends. */
            target: string;
        };
        /** @description The result of adding memories. */
        Remembered: {
            /** @description The revision after the write. */
            revision: components["schemas"]["Revision"];
            /** @description The ids of memories stored or unchanged. */
            stored: string[];
            /** @description The memories left out, each with its reason. */
            leftOut: components["schemas"]["LeftOut"][];
        };
        /** @description A replayed pack. */
        Replay: {
            /** @description The difference from the original pack; empty if the bytes are the same. */
            difference: components["schemas"]["Difference"];
            /** @description The new pack, in the shape of its recipe. */
            result: unknown;
        };
        /**
         * @description A state of a workspace. Viewers who can read everything get its number. Other viewers get a token
         *     that changes only with what they can read: a number would reveal hidden commits.
         */
        Revision: number | string;
        /** @description The hits of a search. */
        SearchAnswer: {
            /** @description The hits, best first. */
            found: components["schemas"]["SearchHit"][];
            /** @description Notices for the caller. */
            notices: string[];
        };
        /** @description A hit of a search. */
        SearchHit: {
            /** @description The item's id. */
            id: string;
            /**
             * Format: uint32
             * @description The number of the chunk.
             */
            chunk: number;
            /**
             * Format: double
             * @description The score, from 0 to 1 if several methods were fused.
             */
            score: number;
            /** @description The hit's rank by search method, from 1. */
            ranks: {
                [key: string]: number;
            };
            /** @description The item's kind. */
            kind: string;
            /** @description The item's title. */
            title: string;
            /** @description The item's path. */
            path?: string | null;
            /** @description The headings above the chunk, outermost first. */
            headings: string[];
            /** @description The first and the last line in the item's text, from 1. */
            lines: [
                number,
                number
            ];
            /** @description The first and the last page, or slide, of a document that has them. */
            pages?: number[] | null;
            /** @description The best excerpt. */
            excerpt: string;
            /** @description The byte ranges of the query's words in the excerpt. */
            hits: [
                number,
                number
            ][];
        };
        /** @description A search for items. */
        SearchRequest: {
            /**
             * @description The query in the user's words.
             * @default
             */
            query?: string;
            /**
             * @description The user to search as; the key's own by default.
             * @default null
             */
            user?: string | null;
            /**
             * @description The user's groups.
             * @default []
             */
            groups?: string[];
            /**
             * @description Only items of these kinds.
             * @default []
             */
            kinds?: string[];
            /**
             * @description Only items whose path has this prefix.
             * @default null
             */
            path?: string | null;
            /**
             * @description Only this item and its descendants.
             * @default null
             */
            under?: string | null;
            /**
             * @description Only items with these fields; the values of a list are alternatives.
             * @default {}
             */
            fields?: {
                [key: string]: unknown;
            };
            /** @description The only search method to use; all methods by default. */
            way?: components["schemas"]["Way"] | null;
            /**
             * Format: uint
             * @description Most hits; 10 by default.
             * @default null
             */
            limit?: number | null;
            /**
             * Format: uint
             * @description Most hits in one item; 2 by default.
             * @default null
             */
            perItem?: number | null;
            /**
             * Format: uint
             * @description Longest excerpt in characters; 280 by default.
             * @default null
             */
            excerpt?: number | null;
        };
        /** @description The result of a recipe without a shape of its own: sections and citations. */
        SectionsContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenCount: number;
            /** @description The sections, in order. */
            sections: components["schemas"]["SectionsSection"][];
            /** @description The citations, in the order of the text. */
            citations: components["schemas"]["Citation"][];
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description An item in a section. */
        SectionsItem: {
            /** @description The item's id. */
            id: string;
            /**
             * Format: uint32
             * @description The number of the chunk; absent for the whole item.
             */
            chunk?: number | null;
            /** @description The item's kind. */
            type: string;
            /** @description The item's text in the pack. */
            content: string;
            /**
             * Format: double
             * @description The item's score.
             */
            relevance: number;
            /** @description The citation id, brackets included. */
            citation: string;
            /**
             * Format: uint32
             * @description The item's tokens in the pack.
             */
            tokens: number;
            /** @description Whether the text was truncated. */
            shortened: boolean;
        };
        /** @description A section of a pack. */
        SectionsSection: {
            /** @description The name of the section's layer. */
            name: string;
            /** @description The section's title. */
            title: string;
            /**
             * Format: uint32
             * @description The section's tokens.
             */
            tokenCount: number;
            /** @description The section's items, in order. */
            items: components["schemas"]["SectionsItem"][];
        };
        /** @description The result of `situation`: guidance (S6). */
        SituationContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenCount: number;
            /** @description The contexts that apply, in the order of the text. */
            contexts: components["schemas"]["SectionsItem"][];
            /** @description The turns of the conversation, in the order of the text. */
            history: components["schemas"]["SectionsItem"][];
            /**
             * @description The evaluated rules, each with its judge, whether it applies, the confidence, and the
             *     contexts that it loaded.
             */
            rules: unknown;
            /** @description The current context and its ancestors, with their distance. */
            chain: unknown;
            /** @description The metadata of the pack. */
            metadata: components["schemas"]["SituationMetadata"];
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description The metadata of a `situation` pack. */
        SituationMetadata: {
            /** @description The id of the current context. */
            currentContext?: string | null;
            /**
             * Format: uint
             * @description The number of contexts in the pack.
             */
            contextsLoaded: number;
            /** @description The time at which the pack was made. */
            assemblyTime: string;
        };
        /** @description A request of a tool or an agent. */
        SituationRequest: {
            /** @description The id of the current context. */
            currentContext?: string | null;
            /**
             * @description The facts of the situation by name.
             * @default {}
             */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /**
             * Format: uint32
             * @description The budget in tokens; 4,000 when left out.
             */
            maxTokens?: number | null;
            /**
             * @description The query in the user's words; may be empty.
             * @default
             */
            query?: string;
            /**
             * @description The user with whose permissions everything is read. Without a user and groups, it is read as the
             *     owner of the data.
             */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request, such as `assist`, `chat`, `search` or `automate`. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the thread: the subject `thread`. */
            threadId?: string | null;
            /** @description The id of the opportunity: the subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description Only items with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description Most items that a search returns; the recipe's own limit when left out.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens, reserves included; the recipe's own when left out.
             */
            tokenBudget?: number | null;
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description A template in place of the layers' own: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time are added after texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker in place of the layers' own: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description Rows of a source as items. */
        SourceBatch: {
            /** @description Items to add or to replace. An item of another source with the same id is left alone. */
            items?: components["schemas"]["NewItem"][];
            /**
             * @description Ids of items of this source to delete.
             * @default []
             */
            deleted?: string[];
            /**
             * @description What the source is after this batch, written with it.
             * @default null
             */
            state?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Whether only to say what would happen.
             * @default false
             */
            dryRun?: boolean;
            /**
             * @description A name by which the items can be undone.
             * @default null
             */
            origin?: string | null;
        };
        /** @description A page of a source. */
        SourcePage: {
            /** @description What the source was when it was last read; null if it never was. */
            state: {
                [key: string]: unknown;
            } | null;
            /** @description Ids of its items, in order. The last is the value of `after` for the next page. */
            ids: string[];
        };
        /** @description What became of a batch. */
        SourceWritten: {
            /**
             * Format: uint64
             * @description Items that were stored.
             */
            stored: number;
            /**
             * Format: uint64
             * @description Items that say what they said before.
             */
            unchanged: number;
            /**
             * Format: uint64
             * @description Items that were deleted.
             */
            deleted: number;
            /** @description Items that were not stored. */
            refused: components["schemas"]["RefusedItem"][];
            /** @description What else a person should know. */
            warnings: string[];
        };
        /** @description A template, as it is stored and as JSON. */
        Template: {
            /** @description The name under which the answer reports the template of a request. */
            name?: string | null;
            /**
             * @description Text before the items.
             * @default
             */
            header?: string;
            /** @description The form of one item, with variables such as `{{content}}`. `memoryFormat` is an alias. */
            item: string;
            /**
             * @description Text between two items.
             * @default
             */
            separator?: string;
            /**
             * @description Text after the items.
             * @default
             */
            footer?: string;
            /** @description Text that replaces the whole section when there are no items. */
            empty?: string | null;
            /** @description Whether type, confidence and time are added after a text whose template shows none of them. */
            includeMetadata?: boolean;
        };
        /** @description A template: the name of a registered one, or the template itself (M8). */
        TemplateOrName: string | components["schemas"]["Template"];
        /** @description A part of a text. */
        TextBlock: {
            /** @description Always `text`. */
            type: string;
            /** @description The text. */
            text: string;
            /** @description A breakpoint: everything up to the end of this block is cached. */
            cache_control?: components["schemas"]["CacheControl"] | null;
        };
        /** @description A time that a query names. */
        Time: {
            /** @description The words that name it. */
            text: string;
            /** @description The start of the range. */
            start: string;
            /** @description The end of the range. */
            end: string;
        };
        /** @description The trust level of a text. */
        Trust: "external" | "internal" | "trusted";
        /** @description A turn of a conversation. */
        Turn: {
            /**
             * @description The speaker's role: `user`, `assistant`, `system` or `tool`.
             * @default
             */
            role?: string;
            /**
             * @description The text of the turn.
             * @default
             */
            content?: string;
            /** @description When the turn was said. */
            timestamp?: components["schemas"]["Moment"] | null;
        };
        /** @description What erasing a user did, and what is left. */
        UserErasure: {
            /** @description The workspaces that held something of the user. */
            workspaces: components["schemas"]["ErasedWorkspace"][];
            /**
             * Format: uint64
             * @description Keys that acted as the user; they are revoked and removed.
             */
            keys: number;
            /**
             * Format: uint64
             * @description Lines of the audit log in which the name was replaced by a hash.
             */
            auditLines: number;
            /**
             * Format: uint64
             * @description Files that were searched for the name and the erased texts.
             */
            filesSearched: number;
            /**
             * Format: uint64
             * @description Their bytes.
             */
            bytesSearched: number;
            /** @description What is left and why; empty if nothing was found. */
            left: components["schemas"]["Leftover"][];
        };
        /** @description A user. */
        UserName: {
            /** @description The user's name, as in lists of readers, without `user:`. */
            user: string;
        };
        /** @description A payload to validate. */
        ValidateRequest: {
            /** @description The result of a `workspace` build. */
            payload: components["schemas"]["Payload"];
            /**
             * @description For whom: a name, or an object with `id` and `groups`; the key's user when left out.
             * @default null
             */
            user?: components["schemas"]["WorkspaceUser"] | null;
            /**
             * @description The user's groups.
             * @default []
             */
            groups?: string[];
        };
        /** @description A search method. */
        Way: "text" | "vector" | "fuzzy";
        /** @description A workspace. */
        Workspace: {
            /** @description The workspace's name. */
            name: string;
            /** @description The workspace's revision. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description The number of items that the caller can read.
             */
            items: number;
        };
        /** @description The result of `workspace`, a payload for the model (W10). */
        WorkspaceContext: {
            /** @description The sections, in order. */
            sections: components["schemas"]["WorkspaceSection"][];
            /** @description The metadata of the payload. */
            metadata: components["schemas"]["WorkspaceMetadata"];
            /** @description The final string. */
            serialized: string;
            /** @description The final string, under the name that all recipes use. */
            context: string;
            /** @description The part that the results of all recipes share. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description A block in a section. */
        WorkspaceItem: {
            /** @description The block's id. */
            blockId: string;
            /** @description The block's type. */
            blockType: string;
            /** @description The block's text in the pack. */
            content: string;
            /**
             * Format: double
             * @description The block's score, from 0 to 1.
             */
            relevance: number;
            /** @description The block's metadata. */
            metadata: components["schemas"]["WorkspaceItemMetadata"];
        };
        /** @description The metadata of a block. */
        WorkspaceItemMetadata: {
            /** @description The title of the block's page, or its own. */
            pageTitle: string | null;
            /** @description The titles of the block's ancestors, outermost first. */
            path: string[];
            /** @description The time of the last change. */
            lastModified: string | null;
        };
        /** @description The metadata of a payload. */
        WorkspaceMetadata: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /** @description The id of the block in focus. */
            focusBlockId: string | null;
            /** @description The id of the open page. */
            focusPageId: string | null;
            /** @description The time at which the pack was made. */
            timestamp: string;
            /**
             * @description The sections whose collectors found something: `focus`, `semantic`, `relations`, `activity`,
             *     `history`.
             */
            collectorsUsed: string[];
            /**
             * Format: uint
             * @description The number of blocks in the pack, each counted once. Turns of the conversation are not
             *     blocks.
             */
            blocksIncluded: number;
            /**
             * Format: uint
             * @description The number of candidate blocks, included or left out, each counted once.
             */
            blocksConsidered: number;
        };
        /** @description The embedding model of a workspace. */
        WorkspaceModel: {
            /** @description The model whose vectors are searched: its name, version and dimensions. */
            model: string;
            /** @description A change to another model that is running, or that has failed; absent otherwise. */
            change?: components["schemas"]["ModelChange"] | null;
            /**
             * @description What the workspace used of models today, where it has a cap. Only for callers who see everything, because
             *     it tells what others do.
             */
            usage?: components["schemas"]["ModelAllowance"] | null;
            /** @description What the requests of the caller's key used of models today, where it has a cap. */
            keyUsage?: components["schemas"]["ModelAllowance"] | null;
        };
        /** @description The name of a new workspace. */
        WorkspaceName: {
            /** @description The name: 1 to 64 of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit. */
            name: string;
        };
        /** @description A request of an assistant inside a workspace (W9). */
        WorkspaceRequest: {
            /** @description The query in the user's words. */
            query: string;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /**
             * @description The type of request: `assist`, `chat`, `search` or `automate`. It sets the budgets of the
             *     sections, unless the request does.
             */
            type?: string | null;
            /** @description The user: a name, or an object with `id` and `groups`. */
            user?: components["schemas"]["WorkspaceUser"] | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description The budget: one number, or `total` and a cap for each section. */
            tokenBudget?: components["schemas"]["WorkspaceTokenBudget"] | null;
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"] | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The ids of the items that the request is about, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The id of the thread: the subject `thread`. */
            threadId?: string | null;
            /** @description The id of the opportunity: the subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The id of the current context. */
            currentContext?: string | null;
            /** @description The facts of the situation by name, for the conditions of rules. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal, in words. */
            intent?: string | null;
            /**
             * Format: double
             * @description Only items with at least this confidence, from 0 to 1.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description Most items that a search returns; the recipe's own limit when left out.
             */
            limit?: number | null;
            /** @description Most tokens of layers, by layer name, in place of the recipe's own caps. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserved tokens by name, in place of the recipe's own reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. It caps the budget and chooses the tokenizer. */
            model?: string | null;
            /** @description The tokenizer when no model is named: an encoding's name, or `characters/4`. */
            tokenizer?: string | null;
            /** @description A template in place of the layers' own: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time are added after texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker in place of the layers' own: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged. */
            previous?: string | null;
            /** @description The current time; the server's clock when left out. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed model; the recipe's own setting when left out. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description A section of the payload. */
        WorkspaceSection: {
            /** @description The type: `focus`, `semantic`, `relations`, `activity` or `history`. */
            type: string;
            /** @description The section's title. */
            title: string;
            /** @description The section's items, in order. */
            items: components["schemas"]["WorkspaceItem"][];
            /**
             * Format: uint32
             * @description The section's tokens.
             */
            tokenCount: number;
        };
        /** @description A token budget, as a whole or by section. */
        WorkspaceTokenBudget: number | {
            [key: string]: number;
        };
        /** @description The user with whose permissions everything is read. */
        WorkspaceUser: string | {
            /** @description The user's name. */
            id: string;
            /**
             * @description The user's groups.
             * @default []
             */
            groups?: string[];
        };
        /** @description The result of a validation (W11). */
        WorkspaceValidation: {
            /** @description Whether the payload has no problems. */
            valid: boolean;
            /** @description The problems that were found. */
            problems: string[];
        };
        /** @description A page of workspaces. */
        Workspaces: {
            /** @description The names of the workspaces that the key may use, sorted. */
            workspaces: components["schemas"]["WorkspaceName"][];
            /** @description The value of `after` for the next page; absent on the last page. */
            next?: string | null;
        };
        /** @description The result of a write. */
        Written: {
            /** @description The revision of the workspace after the write. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description The number of items, links or events that were stored.
             */
            stored: number;
            /**
             * Format: uint64
             * @description The number of those that were unchanged.
             */
            unchanged: number;
            /** @description Warnings, such as fields that may be misspelt or texts that are too long. */
            warnings?: string[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
