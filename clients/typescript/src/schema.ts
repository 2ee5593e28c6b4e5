// Made from the server's OpenAPI document by `npm run schema`: do not change it by hand.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What a query was found to say. */
        Analysis: {
            /** @description Its language, by code. */
            language: string;
            /** @description Its words, without stop words. */
            keywords: string[];
            /** @description What stands in quotes. */
            phrases: string[];
            /** @description File paths. */
            paths: string[];
            /** @description What is referred to by `@`. */
            references: string[];
            /** @description Times, as ranges. */
            times: components["schemas"]["Time"][];
            /** @description What was understood as asked of items' fields; only those that match are searched. */
            filters: components["schemas"]["FieldFilter"][];
            /** @description The words that were read so, as they stand in the query. */
            understood: string[];
            /** @description What the asker wants. */
            intent: string;
        };
        /**
         * @description A request to any recipe, as JSON. A recipe with a shape of its own also has a request type of its
         *     own ([`crate::recipes`]).
         */
        AnyRequest: {
            /**
             * @description The query.
             * @default
             */
            query?: string;
            /** @description The user; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The current context. */
            currentContext?: string | null;
            /** @description The situation's facts. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description How many items a search finds.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens.
             */
            tokenBudget?: number | null;
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time follow texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description What every recipe's result has under `assembly`. */
        Assembly: {
            /** @description The name of the receipt, by which the pack can be explained, replayed and compared. */
            receipt: string;
            /** @description The recipe. */
            recipe: string;
            /** @description The state of the workspace, for `asOf`. */
            revision: components["schemas"]["Revision"];
            /** @description What time it was taken to be. */
            now: string;
            /** @description Who counted. */
            tokenizer: string;
            /** @description How far the count can be trusted. */
            accuracy: string;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budget: number;
            /**
             * Format: uint32
             * @description What the final string could have at most.
             */
            limit: number;
            /**
             * Format: uint32
             * @description What it has.
             */
            tokens: number;
            /** @description What became of each layer. */
            layers: components["schemas"]["Layer"][];
            /** @description What the caller should know. */
            notices: components["schemas"]["Notice"][];
            /** @description Whether something that usually takes part could not. */
            degraded: boolean;
            /** @description What the query was found to say (K1). */
            query: components["schemas"]["Analysis"];
            /** @description Milliseconds by step, and in all. */
            timingsMs: {
                [key: string]: number;
            };
            /** @description What collectors have to say beside candidates. */
            facts?: {
                [key: string]: unknown;
            };
            /** @description What changed since the pack before. */
            delta?: components["schemas"]["Delta"] | null;
            /** @description How good the pack is; with `explain`. */
            quality?: components["schemas"]["Quality"] | null;
            /** @description What became of each candidate; with `explain`. */
            ledger?: components["schemas"]["LedgerLine"][] | null;
        };
        /** @description A difference in what two packs were made from. */
        Cause: {
            /** @constant */
            cause: "request";
            /** @description Which. */
            field: string;
            /** @description The first request's value; empty when it has none. */
            before: string;
            /** @description The second request's value; empty when it has none. */
            after: string;
        } | {
            /** @constant */
            cause: "recipe";
            /** @description The first's name and hash. */
            before: string;
            /** @description The second's name and hash. */
            after: string;
        } | {
            /** @constant */
            cause: "viewer";
        } | {
            /** @constant */
            cause: "data";
            /** @description The first's. */
            before: components["schemas"]["Revision"];
            /** @description The second's. */
            after: components["schemas"]["Revision"];
        } | {
            /** @constant */
            cause: "time";
            /**
             * Format: int64
             * @description The first's, in Unix milliseconds.
             */
            before: number;
            /**
             * Format: int64
             * @description The second's.
             */
            after: number;
        } | {
            /** @constant */
            cause: "tokenizer";
            /** @description The first's. */
            before: string;
            /** @description The second's. */
            after: string;
        } | {
            /** @constant */
            cause: "embedder";
            /** @description The first's. */
            before: string;
            /** @description The second's. */
            after: string;
        } | {
            /** @constant */
            cause: "reranker";
            /** @description The first's. */
            before: string;
            /** @description The second's. */
            after: string;
        } | {
            /** @constant */
            cause: "packing";
            /**
             * Format: uint32
             * @description The first's.
             */
            before: number;
            /**
             * Format: uint32
             * @description The second's.
             */
            after: number;
        };
        /** @description A difference in what became of one candidate. */
        Change: {
            /** @constant */
            change: "entered";
            /** @description Why it was out of the first: not found, or its reason. */
            before: string;
        } | {
            /** @constant */
            change: "left";
            /** @description Why it is out of the second: not found, or its reason. */
            after: string;
        } | {
            /** @constant */
            change: "resized";
            /**
             * Format: uint32
             * @description Before.
             */
            before: number;
            /**
             * Format: uint32
             * @description After.
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
             * @description Before.
             */
            before: number;
            /**
             * Format: double
             * @description After.
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
        /** @description A source (K7, X7). */
        Citation: {
            /** @description The id as it stands in the text, brackets included. */
            id: string;
            /** @description The item. */
            item: string;
            /** @description Its title. */
            title?: string | null;
            /** @description Its path. */
            path?: string | null;
            /** @description Headings and ancestors, outermost first. */
            breadcrumb?: string[];
            /** @description First and last line. */
            lines?: number[] | null;
            /** @description The bytes of the item's text that are in. */
            spans: number[][];
        };
        /** @description The citations that a response used. */
        Citations: {
            /** @description Every citation, and whether the response used it. */
            citations: components["schemas"]["PrimeCitation"][];
            /** @description A block that lists the used ones. */
            sources: string;
        };
        /** @description A response and its pack. */
        CitationsRequest: {
            /** @description The pack's receipt. */
            receipt: string;
            /** @description What the model wrote. */
            response: string;
        };
        /** @description A part of a candidate's text in a pack. */
        Content: [
            number,
            number
        ] | string;
        /** @description A count. */
        Count: {
            /**
             * Format: uint32
             * @description The count.
             */
            tokens: number;
            /** @description The tokenizer. */
            tokenizer: string;
            /** @description The accuracy of the count. */
            accuracy: string;
        };
        /** @description What changed since the pack before. */
        Delta: {
            /** @description The receipt of the pack before. */
            previous: string;
            /**
             * Format: uint
             * @description How many bytes at the beginning are the same.
             */
            keptBytes: number;
            /** @description What comes after them: all that has to be sent to whoever has the pack before. */
            context: string;
            /** @description What is new. */
            added: string[];
            /** @description What is gone. */
            removed: string[];
        };
        /** @description The differences between two packs. */
        Difference: {
            /** @description Whether the two have the same bytes. */
            same: boolean;
            /** @description The inputs that differ. */
            causes: components["schemas"]["Cause"][];
            /** @description What changed, by candidate. */
            candidates: {
                [key: string]: components["schemas"]["Change"][];
            };
        };
        /** @description A text to count, or a payload whose final string is counted. */
        EstimateRequest: {
            /**
             * @description The text.
             * @default null
             */
            text?: string | null;
            /** @description The payload of a build. */
            payload?: components["schemas"]["PayloadText"] | null;
            /**
             * @description The model that will read it.
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
            /** @description The item. */
            item: string;
            /**
             * @description The user; the caller by default.
             * @default null
             */
            user?: string | null;
            /** @description What. */
            happening: components["schemas"]["EventKind"];
            /**
             * @description When; now when left out.
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
        /** @description Whether an item helped. */
        Feedback: {
            /** @description The item. */
            contextItemId: string;
            /** @description Whether it helped. */
            useful: boolean;
            /**
             * @description The user; the key's own by default.
             * @default null
             */
            user?: string | null;
        };
        /** @description What is asked of a field. */
        FieldFilter: {
            /**
             * @description `due`, `done`, `assignee`, `priority`, `status`, `author`, `type`, `kind`, `changed` or
             *     `created`.
             */
            field: string;
            /** @description One of these values. */
            values?: string[];
            /** @description From, for dates. */
            start?: string | null;
            /** @description To, for dates. */
            end?: string | null;
        };
        /** @description What the user is looking at (W9). */
        Focus: {
            /** @description A block. */
            blockId?: string | null;
            /** @description A page. */
            pageId?: string | null;
            /** @description A database. */
            databaseId?: string | null;
        };
        /** @description The packs of several budgets. */
        Frontier: {
            /** @description From the smallest budget; infeasible ones are left out. */
            points: components["schemas"]["FrontierPoint"][];
        };
        /** @description The pack of one budget. */
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
        /** @description A request and the budgets to try it at. */
        FrontierRequest: {
            /**
             * @description The recipe's request.
             * @default {}
             */
            request?: {
                [key: string]: unknown;
            };
            /**
             * @description The budgets; 25 from the smallest to the largest by default.
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
            /** @description Items that must be candidates. */
            includeBlocks?: string[];
            /** @description Items that must not be in the pack. */
            excludeBlocks?: string[];
            /**
             * Format: uint32
             * @description How many steps relations are followed.
             */
            maxDepth?: number | null;
        };
        /** @description An item as it is stored. */
        Item: {
            /** @description Its name. */
            id: string;
            /** @description The kind. */
            kind: string;
            /** @description The title. */
            title: string;
            /** @description Its text. */
            body: string;
            /** @description Other fields. */
            fields: {
                [key: string]: unknown;
            };
            /** @description The origin. */
            path?: string | null;
            /** @description The parent, if it is visible to the viewer. */
            parent?: string | null;
            /**
             * Format: int64
             * @description Its position among its siblings.
             */
            position: number;
            /** @description The creation time. */
            created?: string | null;
            /** @description The time of the last change. */
            updated?: string | null;
            /**
             * Format: double
             * @description How sure its source is.
             */
            confidence?: number | null;
            /** @description Who may read it, for callers who see everything. Others who write it leave it as it is. */
            readers?: string[] | null;
            /** @description The trust level. */
            trust: string;
            /** @description Whether it is in use. */
            active: boolean;
            /**
             * @description The revision of this version, for callers who see everything; for others a token that changes
             *     with what they see of the item.
             */
            revision: components["schemas"]["Revision"];
        };
        /** @description A page of items. */
        ItemPage: {
            /** @description The items. */
            items: components["schemas"]["Item"][];
            /** @description The `after` of the next page; absent on the last one. */
            next?: string | null;
        };
        /** @description A layer's figures. */
        Layer: {
            /** @description Its name. */
            name: string;
            /** @description Its title. */
            title: string;
            /**
             * Format: uint32
             * @description Tokens of its section.
             */
            tokens: number;
            /**
             * Format: uint32
             * @description What its candidates would have cost whole.
             */
            wanted: number;
            /**
             * Format: uint
             * @description How many were found.
             */
            candidates: number;
            /**
             * Format: uint
             * @description How many are in.
             */
            items: number;
            /**
             * Format: uint
             * @description How many of those are shortened.
             */
            cut: number;
            /**
             * Format: uint
             * @description How many are out for want of room.
             */
            removed: number;
        };
        /** @description One candidate's line. */
        LedgerLine: {
            /** @description The item. */
            item: string;
            /**
             * Format: uint32
             * @description Which chunk of it; none for the whole item.
             */
            chunk?: number | null;
            /** @description The layer it was found for. */
            layer: string;
            /** @description Its kind. */
            kind: string;
            /** @description The collectors that found it, with its rank in their lists. */
            found: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description Its score.
             */
            score: number;
            /** @description The score's components, each with value and weight. */
            parts: {
                [key: string]: [
                    number,
                    number
                ];
            };
            /** @description `in`, `cut`, `essential` or `out`. */
            outcome: string;
            /** @description Why it is out, or from which budget it is whole. */
            why?: string | null;
            /** @description Why it is out, as a code for programs such as `over_budget` or `repeats`. */
            code?: string | null;
            /**
             * Format: uint32
             * @description The budget from which it is in whole, where a budget decides that.
             */
            wholeFrom?: number | null;
            /** @description The candidate or layer that is in the pack instead. */
            instead?: string | null;
            /**
             * Format: uint32
             * @description Its tokens in the pack.
             */
            tokens: number;
            /**
             * Format: uint32
             * @description Its tokens when whole.
             */
            tokensWhole: number;
            /** @description The last candidate that was selected before the budget excluded this one. */
            displacedBy?: string | null;
            /** @description A hash of its text. */
            text?: string | null;
            /** @description The parts that the pack shows, where it shows only part of the item. */
            content?: components["schemas"]["Content"][];
        };
        /** @description A memory that was not stored. */
        LeftOut: {
            /** @description Which. */
            id: string;
            /** @description `repeats` what another says, or `echoes` what was given out in a pack. */
            reason: string;
            /** @description What it repeats or echoes. */
            of: string[];
        };
        /** @description A link. */
        Link: {
            /** @description The source item. */
            from: string;
            /** @description The target item. */
            to: string;
            /** @description The link type: `link`, `relation`, `supports`, … */
            sort: string;
        };
        /** @description Links to add and to remove. */
        Links: {
            /** @description Links to add; existing ones stay. */
            add?: components["schemas"]["Link"][];
            /** @description Links to remove. */
            remove?: components["schemas"]["Link"][];
        };
        /** @description A position in the final string, and a hash of the text up to there. */
        Mark: [
            number,
            string
        ];
        /** @description A memory (M1). */
        Memory: {
            /** @description Its id. */
            id: string;
            /** @description What it says. */
            content: string;
            /** @description Its type, such as `fact` or `preference`. */
            type: string | null;
            /**
             * Format: double
             * @description How sure it is.
             */
            confidence: number | null;
            /** @description When it was made. */
            created_at: string | null;
            /** @description The conversation it comes from. */
            conversation: string | null;
        };
        /** @description Memories for a prompt (M9). */
        MemoryContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
            /** @description The memories that are in, best first. */
            memories: components["schemas"]["MemorySearchResult"][];
            /** @description Whether some that were found are not in, or shortened, for want of room. */
            truncated: boolean;
            /** @description The template that was used. */
            template: string;
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description A context before it is used: the same, with what decided it (M9). */
        MemoryPreview: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
            /** @description The memories that are in, best first. */
            memories: components["schemas"]["MemorySearchResult"][];
            /** @description Whether some that were found are not in, or shortened, for want of room. */
            truncated: boolean;
            /** @description The template that was used. */
            template: string;
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
            /** @description The ids of the memories that are in. */
            memoryIds: string[];
            /** @description The score of every memory that has to do with the question. */
            rankingScores: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description How much of the budget is used, in percent.
             */
            budgetUsed: number;
        };
        /** @description A memory that is related to another (M7). */
        MemoryRelated: {
            /** @description The memory. */
            memory: components["schemas"]["Memory"];
            /** @description How it is related. */
            relationship: components["schemas"]["Relationship"];
            /**
             * Format: uint64
             * @description How many steps away.
             */
            depth: number;
        };
        /** @description What a chat assistant asks (M3). */
        MemoryRequest: {
            /**
             * @description The message.
             * @default
             */
            query?: string;
            /** @description A vector to look for instead (M2). */
            vector?: number[] | null;
            /**
             * Format: uint
             * @description How many memories are found; when left out, 10 for a search, and for a context as many as the
             *     budget has room for. Related ones are extra.
             */
            limit?: number | null;
            /** @description Only these types. */
            memoryTypes?: string[];
            /** @description Only from this moment on. */
            dateFrom?: components["schemas"]["Moment"] | null;
            /** @description Only before this moment. */
            dateTo?: components["schemas"]["Moment"] | null;
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only of this conversation. */
            conversationId?: string | null;
            /**
             * @description Whether related memories come along.
             * @default false
             */
            includeRelationships?: boolean;
            /**
             * Format: uint32
             * @description How many steps away; 1 when left out.
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
             * @description Whether type, confidence and time are shown; with no template named, that is `detailed`.
             * @default false
             */
            includeMetadata?: boolean;
            /** @description The user; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The current context. */
            currentContext?: string | null;
            /** @description The situation's facts. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description The results of the searches. */
        MemoryResults: {
            /** @description For each query, in order, the matching memories, best first. */
            results: components["schemas"]["MemorySearchResult"][][];
        };
        /** @description Searches among memories. */
        MemorySearch: {
            /** @description The queries, each with its own options. */
            searches: components["schemas"]["MemoryRequest"][];
        };
        /** @description A memory that was found. */
        MemorySearchResult: {
            /** @description The memory. */
            memory: components["schemas"]["Memory"];
            /**
             * Format: double
             * @description How similar it is to the query, 0 to 1.
             */
            score: number;
            /**
             * Format: double
             * @description Its score after ranking.
             */
            rank: number;
            /** @description What the text says behind it, such as `outdated since 2025-09-07`. */
            note: string | null;
            /**
             * @description What it is related to, if that was asked for: what came along because of it, and what was
             *     found beside it.
             */
            relationships: components["schemas"]["MemoryRelated"][];
        };
        /** @description A moment, in any of these forms. */
        Moment: string | number;
        /** @description Names. */
        Names: {
            /** @description In order. */
            names: string[];
            /** @description The `after` of the next page; absent on the last one. */
            next?: string | null;
        };
        /** @description An item to store. */
        NewItem: {
            /** @description Its name, unique in the workspace; an item of this name is replaced. */
            id: string;
            /** @description The kind: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, … */
            kind: string;
            /**
             * @description The title.
             * @default
             */
            title?: string;
            /**
             * @description Its text.
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
             * @description The parent.
             * @default null
             */
            parent?: string | null;
            /**
             * Format: int64
             * @description Its position among its siblings.
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
             * @description How sure its source is, from 0 to 1.
             * @default null
             */
            confidence?: number | null;
            /**
             * @description Who may read it: `user:anna`, `group:sales`, `everyone`. By default those who may read its parent.
             * @default null
             */
            readers?: string[] | null;
            /**
             * @description The trust level: `external`, `internal` or `trusted`.
             * @default null
             */
            trust?: components["schemas"]["Trust"] | null;
            /**
             * @description Whether it is in use.
             * @default true
             */
            active?: boolean;
        };
        /** @description Memories to add. */
        NewMemories: {
            /**
             * @description Their owner, who alone can read them; the key's user by default.
             * @default null
             */
            user?: string | null;
            /** @description The memories. */
            memories: components["schemas"]["NewMemory"][];
        };
        /** @description A memory to add. */
        NewMemory: {
            /** @description The text. */
            content: string;
            /**
             * @description Its id; derived from its content by default. An existing memory is replaced.
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
             * @description How sure its source is, from 0 to 1.
             * @default null
             */
            confidence?: number | null;
            /**
             * @description The conversation it comes from.
             * @default null
             */
            conversationId?: string | null;
            /**
             * @description The creation time; now by default.
             * @default null
             */
            createdAt?: components["schemas"]["Moment"] | null;
        };
        /** @description Feedback was recorded. */
        Noted: {
            /** @description Always true: a failure is a problem (K8). */
            success: boolean;
        };
        /** @description A notice. */
        Notice: {
            /** @description Always `warning`, as in an event of that name. */
            type: string;
            /** @description What it is about. */
            code: string;
            /** @description In words. */
            message: string;
            /** @description In figures. */
            details?: unknown;
            /** @description What could be done. */
            suggestions?: string[];
        };
        /** @description A past state. */
        PastState: components["schemas"]["Moment"] | {
            /** @description The answer's `revision`. */
            revision: components["schemas"]["Revision"];
        };
        /**
         * @description What of a payload is looked at when it is checked; the rest is ignored, so that a result can be
         *     handed back as it came, or with the fields of the application's own document alone.
         */
        Payload: {
            /** @description The sections. */
            sections: components["schemas"]["PayloadSection"][];
            /** @description What the payload says of itself. */
            metadata: components["schemas"]["PayloadMetadata"];
            /** @description The final string. */
            serialized: string;
            /** @description What the payload was made within, where that is told. */
            assembly?: components["schemas"]["PayloadAssembly"] | null;
        };
        /** @description What a payload was made within. */
        PayloadAssembly: {
            /**
             * Format: uint32
             * @description What the final string can have at most.
             */
            limit: number;
            /** @description Who counted. */
            tokenizer: string;
        };
        /** @description An item of a payload. */
        PayloadItem: {
            /** @description The block. */
            blockId: string;
            /**
             * @description Its type.
             * @default null
             */
            blockType?: string | null;
            /** @description Its text as it is in. */
            content: string;
        };
        /** @description What a payload says of itself. */
        PayloadMetadata: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /**
             * Format: uint
             * @description How many blocks are in.
             */
            blocksIncluded: number;
            /**
             * Format: uint
             * @description How many were found.
             * @default null
             */
            blocksConsidered?: number | null;
        };
        /** @description A section of a payload. */
        PayloadSection: {
            /** @description Which. */
            type: string;
            /** @description Its title. */
            title: string;
            /** @description Its items. */
            items: components["schemas"]["PayloadItem"][];
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
        };
        /** @description The part of a payload that is counted; other fields are ignored. */
        PayloadText: {
            /** @description The final string, as every recipe calls it. */
            context?: string | null;
            /** @description The same, in the result of `workspace`. */
            serialized?: string | null;
        };
        /** @description The answer of `build` (K8). */
        PrimeAnswer: {
            /** @description The context. */
            data: components["schemas"]["PrimeContext"];
            /** @description Its figures. */
            meta: components["schemas"]["PrimeMeta"];
            /** @description The final string. */
            context: string;
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description A source (K7). */
        PrimeCitation: {
            /** @description The id as it stands in the text, such as `[fil-1x9k2]`. */
            id: string;
            /** @description The item. */
            item: string;
            /** @description Where it comes from. */
            source: string;
            /** @description `file`, `message` or `document`. */
            type: string;
            /** @description Its path. */
            path?: string | null;
            /** @description As the item's. */
            excerpt?: string | null;
            /**
             * Format: double
             * @description Its score.
             */
            relevance: number;
            /** @description Whether a response named it. */
            usedInResponse: boolean;
        };
        /** @description One ranked list (K6). */
        PrimeContext: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /** @description The items, in the order of the text. */
            items: components["schemas"]["PrimeItem"][];
            /** @description Their citations. */
            citations: components["schemas"]["PrimeCitation"][];
            /** @description How many were found in which way. */
            stats: components["schemas"]["PrimeStats"];
        };
        /** @description An item of the list. */
        PrimeItem: {
            /** @description The item's id. */
            id: string;
            /** @description `reference`, `file`, `chunk`, `message`, or the item's own kind. */
            type: string;
            /** @description Its text as it is in. */
            content: string;
            /** @description The most telling stretch of it, with the hits between `<<<` and `>>>`. */
            excerpt?: string | null;
            /** @description Where it comes from. */
            source: string;
            /**
             * Format: double
             * @description Its score.
             */
            relevance: number;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokens: number;
            /** @description What else is known. */
            metadata: components["schemas"]["PrimeMetadata"];
        };
        /** @description The figures of an answer. */
        PrimeMeta: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            tokenUsage: number;
            /**
             * Format: uint
             * @description How many items are in.
             */
            sourceCount: number;
            /**
             * Format: uint
             * @description How many citations there are.
             */
            citationCount: number;
        };
        /** @description What else is known of an item. */
        PrimeMetadata: {
            /** @description Its path. */
            path?: string | null;
            /** @description When it was made or last changed. */
            createdAt?: string | null;
            /** @description The query's keywords that it holds. */
            matchedKeywords: string[];
            /**
             * Format: uint32
             * @description Its best place in a list of finds, from 1.
             */
            searchRank?: number | null;
            /** @description First and last line. */
            lines?: number[] | null;
            /** @description Who found it. */
            foundBy: string[];
        };
        /** @description What an agent asks for one message. */
        PrimeRequest: {
            /** @description The thread. */
            threadId?: string | null;
            /**
             * @description The message.
             * @default
             */
            message?: string;
            /**
             * @description The query.
             * @default
             */
            query?: string;
            /** @description The user; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The current context. */
            currentContext?: string | null;
            /** @description The situation's facts. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description How many items a search finds.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens.
             */
            tokenBudget?: number | null;
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time follow texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description How many were found in which way. */
        PrimeStats: {
            /**
             * Format: uint
             * @description By explicit reference.
             */
            explicitCount: number;
            /**
             * Format: uint
             * @description By search.
             */
            searchCount: number;
            /**
             * Format: uint
             * @description From the thread's history.
             */
            historyCount: number;
            /**
             * Format: uint
             * @description Found and not in.
             */
            excludedCount: number;
        };
        /** @description A problem as JSON. */
        Problem: {
            /** @description The code again, in the field that RFC 9457 defines. */
            type: string;
            /** @description The stable name of this type of problem. */
            code: string;
            /** @description What this type of problem is. */
            title: string;
            /**
             * Format: uint16
             * @description The status of the response.
             */
            status: number;
            /** @description What happened in this case, and what to do. */
            detail: string;
            /** @description The detail again, under the usual name of error messages (M11). */
            message: string;
            /** @description The field it is about. */
            field?: string | null;
            /**
             * Format: uint64
             * @description The line of a streamed body, from 1.
             */
            line?: number | null;
            /**
             * Format: uint64
             * @description How many lines of a streamed body are stored.
             */
            stored?: number | null;
            /**
             * Format: uint32
             * @description The smallest sufficient budget.
             */
            least?: number | null;
            /** @description The missing template. */
            template?: string | null;
            /** @description The available names, if a template or recipe does not exist. */
            available?: string[] | null;
        };
        /** @description How the budget was kept. */
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
             * @description Whether more was found than the budget has room for: something was truncated, or foundational
             *     text alone is larger.
             */
            isOverBudget: boolean;
            /** @description The categories that lost something, in the order in which they are cut. */
            truncatedCategories: string[];
            /** @description What each lost. */
            truncationDetails: components["schemas"]["ProposalTruncationDetail"][];
        };
        /** @description What a proposal is written from (P11). */
        ProposalContext: {
            /** @description The company's profile, if there is one. */
            companyProfile: unknown;
            /** @description The brand's settings, if there are any. */
            brandContext: unknown;
            /** @description What was said and written in the deal, newest first. */
            dealContext: string;
            /** @description What is sold, the most relevant first. */
            products: unknown[];
            /** @description Whom it is sold against, those who are named first. */
            competitive: unknown[];
            /** @description How it is sold. */
            playbooks: unknown[];
            /** @description What won similar deals. */
            historicalPatterns: unknown[];
            /** @description How the budget was kept. */
            budgetStatus: components["schemas"]["ProposalBudgetStatus"];
            /** @description How much was found. */
            retrievalMetrics: components["schemas"]["ProposalRetrievalMetrics"];
            /** @description What the user should be told (P12). */
            warnings: components["schemas"]["Notice"][];
            /** @description The final string. */
            context: string;
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description What a proposal writer asks. On the wire also under the names of the application's own document. */
        ProposalRequest: {
            /**
             * @description The deal.
             * @default
             */
            opportunityId?: string;
            /**
             * @description What is to be written.
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
             * @description What the system prompt takes; 1,000 when left out.
             */
            systemPromptTokens?: number | null;
            /** @description How much each category matters to this user: 1 is as usual (P17). */
            categoryPriorities?: {
                [key: string]: number;
            };
            /**
             * @description The query.
             * @default
             */
            query?: string;
            /** @description The user; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The current context. */
            currentContext?: string | null;
            /** @description The situation's facts. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal. */
            intent?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description How many items a search finds.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens.
             */
            tokenBudget?: number | null;
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time follow texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description How much was found. */
        ProposalRetrievalMetrics: {
            /**
             * Format: uint
             * @description Items of the deal.
             */
            dealContextItems: number;
            /**
             * Format: uint
             * @description Products.
             */
            productsRetrieved: number;
            /**
             * Format: uint
             * @description Battlecards.
             */
            battlecardsRetrieved: number;
            /**
             * Format: uint
             * @description Playbooks.
             */
            playbooksRetrieved: number;
        };
        /** @description What a category lost. */
        ProposalTruncationDetail: {
            /** @description The category. */
            category: string;
            /**
             * Format: uint32
             * @description What it would have had.
             */
            originalTokens: number;
            /**
             * Format: uint32
             * @description What it has.
             */
            finalTokens: number;
            /**
             * Format: uint
             * @description How many of its items are not in.
             */
            itemsRemoved: number;
        };
        /** @description The server as a protected resource. The names are those of RFC 9728. */
        ProtectedResource: {
            /** @description The resource, as a URL. */
            resource: string;
            /** @description Who gives tokens for it. */
            authorization_servers: string[];
            /** @description What a token can be for. */
            scopes_supported: string[];
            /** @description How a token is sent. */
            bearer_methods_supported: string[];
        };
        /** @description How good a pack is. */
        Quality: {
            /**
             * Format: double
             * @description How likely it is that what was found has to do with the query, where that was measured.
             */
            relevance?: number | null;
            /**
             * Format: double
             * @description How much of what was found is in, by value.
             */
            coverage: number;
            /**
             * Format: double
             * @description How much says again what stood before.
             */
            redundancy: number;
            /**
             * Format: double
             * @description How new the texts are.
             */
            freshness: number;
            /**
             * Format: double
             * @description How much of the budget is used.
             */
            budgetUse: number;
            /**
             * Format: double
             * @description All in one.
             */
            score: number;
        };
        /** @description A range of time; the end is exclusive. */
        Range: {
            /** @description From. */
            start?: components["schemas"]["Moment"] | null;
            /** @description To. */
            end?: components["schemas"]["Moment"] | null;
        };
        /** @description A ranker by name or as an expression (M6). */
        Ranker: string | {
            /** @description Such as `semantic * 0.7 + recency * 0.3`. */
            expression: string;
        };
        /** @description A ranker. */
        RankerText: {
            /** @description An expression over the components, such as `semantic * 0.7 + recency * 0.3`. */
            expression: string;
        };
        /** @description What the parts of the ranker `default` count for, each from 0 to 1 (M6). */
        RankingOptions: {
            /**
             * Format: double
             * @description How similar it is; 0.6 when left out.
             */
            similarityWeight?: number | null;
            /**
             * Format: double
             * @description How new it is, 1 / (1 + days); 0.2 when left out.
             */
            recencyWeight?: number | null;
            /**
             * Format: double
             * @description How sure it is; 0.2 when left out.
             */
            confidenceWeight?: number | null;
        };
        /** @description A stored receipt. */
        Receipt: {
            /**
             * Format: uint32
             * @description The version of its format.
             */
            format: number;
            /** @description Its id. */
            id: string;
            /**
             * Format: uint32
             * @description The version of packing: another version may give other bytes for the same request.
             */
            packing: number;
            /** @description The recipe. */
            recipe: string;
            /** @description A hash of the recipe, templates and rankers included. */
            recipeHash: string;
            /** @description The request. */
            request: components["schemas"]["AnyRequest"];
            /** @description The principals of the viewer; none for the owner. */
            viewer?: string[] | null;
            /** @description The state of the workspace, by the viewer's id for it. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: int64
             * @description The time of the request, in Unix milliseconds.
             */
            now: number;
            /** @description The tokenizer. */
            tokenizer: string;
            /** @description The model that embedded the query. */
            embedder: string;
            /** @description The reranker, where one was used. */
            reranker?: string | null;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budget: number;
            /**
             * Format: uint32
             * @description The most tokens that the text could have.
             */
            limit: number;
            /**
             * Format: uint32
             * @description The tokens that it has.
             */
            tokens: number;
            /** @description A hash of everything that decided the pack. */
            inputs: string;
            /** @description A hash of the final string. */
            text: string;
            /** @description The fences' nonce. */
            nonce?: string | null;
            /** @description The ends of items in the final string, each with a hash of the text up to there. */
            marks: components["schemas"]["Mark"][];
            /** @description The candidates: those in the pack in the order of the text, then the rest. */
            ledger: components["schemas"]["LedgerLine"][];
            /**
             * Format: uint
             * @description How many candidates are not listed.
             */
            unlisted: number;
        };
        /** @description A recipe. */
        RecipeText: {
            /** @description Its text, TOML. */
            source: string;
        };
        /** @description A link between two memories. */
        Relationship: {
            /** @description Its type, such as `supersedes`. */
            type: string;
            /** @description `outward` when it leads from the nearer memory to the farther, `inward` when it leads back. */
            direction: string;
            /** @description The memory that the link leads from. */
            source: string;
            /** @description The memory that it leads to. */
            target: string;
        };
        /** @description The result of adding memories. */
        Remembered: {
            /** @description The revision of the workspace after it. */
            revision: components["schemas"]["Revision"];
            /** @description The memories that were stored or unchanged. */
            stored: string[];
            /** @description The memories that say nothing new, each with its reason. */
            leftOut: components["schemas"]["LeftOut"][];
        };
        /** @description A rebuilt pack. */
        Replay: {
            /** @description The difference from the first one; empty if the bytes are the same. */
            difference: components["schemas"]["Difference"];
            /** @description The pack, in the shape of its recipe. */
            result: unknown;
        };
        /**
         * @description A state of a workspace. Viewers who can read everything get its number. Other viewers get a token
         *     that changes only with what they can read: a number would reveal hidden commits.
         */
        Revision: number | string;
        /** @description The hits. */
        SearchAnswer: {
            /** @description Best first. */
            found: components["schemas"]["SearchHit"][];
            /** @description Notices. */
            notices: string[];
        };
        /** @description A hit. */
        SearchHit: {
            /** @description The item. */
            id: string;
            /**
             * Format: uint32
             * @description Which chunk of it.
             */
            chunk: number;
            /**
             * Format: double
             * @description The score, from 0 to 1 if methods were fused.
             */
            score: number;
            /** @description Its rank by method, from 1. */
            ranks: {
                [key: string]: number;
            };
            /** @description The item's kind. */
            kind: string;
            /** @description The item's title. */
            title: string;
            /** @description The item's path. */
            path?: string | null;
            /** @description The headings above it, outermost first. */
            headings: string[];
            /** @description First and last line in the item's text, from 1. */
            lines: [
                number,
                number
            ];
            /** @description The best excerpt. */
            excerpt: string;
            /** @description The byte ranges of the query's words in it. */
            hits: [
                number,
                number
            ][];
        };
        /** @description A search. */
        SearchRequest: {
            /**
             * @description The question.
             * @default
             */
            query?: string;
            /**
             * @description The user to search as; the key's own by default.
             * @default null
             */
            user?: string | null;
            /**
             * @description Their groups.
             * @default []
             */
            groups?: string[];
            /**
             * @description Only these kinds.
             * @default []
             */
            kinds?: string[];
            /**
             * @description Only paths with this prefix.
             * @default null
             */
            path?: string | null;
            /**
             * @description Only this item and its descendants.
             * @default null
             */
            under?: string | null;
            /**
             * @description Only items with these fields; a list of values are alternatives.
             * @default {}
             */
            fields?: {
                [key: string]: unknown;
            };
            /** @description Only this search method; all by default. */
            way?: components["schemas"]["Way"] | null;
            /**
             * Format: uint
             * @description Most hits; 10 by default.
             * @default null
             */
            limit?: number | null;
            /**
             * Format: uint
             * @description Most hits from one item; 2 by default.
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
        /** @description Sections and citations. */
        SectionsContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
            /** @description Its sections, in order. */
            sections: components["schemas"]["SectionsSection"][];
            /** @description Its sources, in the order of the text. */
            citations: components["schemas"]["Citation"][];
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description An item. */
        SectionsItem: {
            /** @description The item's id. */
            id: string;
            /**
             * Format: uint32
             * @description Which chunk of it; none when it is all of it.
             */
            chunk?: number | null;
            /** @description Its kind. */
            type: string;
            /** @description Its text as it is in. */
            content: string;
            /**
             * Format: double
             * @description Its score.
             */
            relevance: number;
            /** @description Its citation id, brackets included. */
            citation: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokens: number;
            /** @description Whether it was shortened. */
            shortened: boolean;
        };
        /** @description A section. */
        SectionsSection: {
            /** @description Its layer. */
            name: string;
            /** @description Its title. */
            title: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
            /** @description Its items, in order. */
            items: components["schemas"]["SectionsItem"][];
        };
        /** @description Guidance for a situation (S6). */
        SituationContext: {
            /** @description The final string. */
            context: string;
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
            /** @description The contexts that hold, in the order of the text. */
            contexts: components["schemas"]["SectionsItem"][];
            /** @description What was said before. */
            history: components["schemas"]["SectionsItem"][];
            /**
             * @description The rules that were judged: each with who judged it, whether it applies, how sure that is,
             *     and what it brought in.
             */
            rules: unknown;
            /** @description The current context and its ancestors, with their distance. */
            chain: unknown;
            /** @description How the context came about. */
            metadata: components["schemas"]["SituationMetadata"];
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description How the context came about. */
        SituationMetadata: {
            /** @description The current context. */
            currentContext?: string | null;
            /**
             * Format: uint
             * @description How many contexts are in.
             */
            contextsLoaded: number;
            /** @description What time it was. */
            assemblyTime: string;
        };
        /** @description What a tool or an agent asks. */
        SituationRequest: {
            /** @description The current context, by id. */
            currentContext?: string | null;
            /**
             * @description The situation's facts, by name.
             * @default {}
             */
            situation?: {
                [key: string]: unknown;
            };
            /** @description What is to be reached. */
            intent?: string | null;
            /**
             * Format: uint32
             * @description The budget in tokens; 4,000 when left out.
             */
            maxTokens?: number | null;
            /**
             * @description The query.
             * @default
             */
            query?: string;
            /** @description The user; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The type of request. */
            type?: string | null;
            /** @description What the user is looking at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The conversation so far, oldest turn first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description Items and kinds to include, exclude or prioritize. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description How many items a search finds.
             */
            limit?: number | null;
            /**
             * Format: uint32
             * @description The budget in tokens.
             */
            tokenBudget?: number | null;
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time follow texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description A template as it is stored, and as JSON carries it. */
        Template: {
            /** @description Its name in the answer, where a request brings it along. */
            name?: string | null;
            /**
             * @description Text before the items.
             * @default
             */
            header?: string;
            /** @description One item, with `{{content}}` and the like; `memoryFormat` means the same. */
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
            /** @description Text in place of all this when there are no items. */
            empty?: string | null;
            /** @description Whether type, confidence and time follow a text whose template shows none of them. */
            includeMetadata?: boolean;
        };
        /** @description A template by name or written out (M8). */
        TemplateOrName: string | components["schemas"]["Template"];
        /** @description A time that a query names. */
        Time: {
            /** @description The words that say so. */
            text: string;
            /** @description From. */
            start: string;
            /** @description To. */
            end: string;
        };
        /** @description The trust level of a text. */
        Trust: "external" | "internal" | "trusted";
        /** @description A turn of a conversation. */
        Turn: {
            /**
             * @description The speaker's role.
             * @default
             */
            role?: string;
            /**
             * @description The text of the turn.
             * @default
             */
            content?: string;
            /** @description When. */
            timestamp?: components["schemas"]["Moment"] | null;
        };
        /** @description A payload to check. */
        ValidateRequest: {
            /** @description The payload of a build. */
            payload: components["schemas"]["Payload"];
            /**
             * @description For whom: a name, or an object with `id` and `groups`; the key's user when left out.
             * @default null
             */
            user?: components["schemas"]["WorkspaceUser"] | null;
            /**
             * @description Their groups.
             * @default []
             */
            groups?: string[];
        };
        /** @description A search method. */
        Way: "text" | "vector" | "fuzzy";
        /** @description A workspace. */
        Workspace: {
            /** @description Its name. */
            name: string;
            /** @description Its revision. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description How many items are visible.
             */
            items: number;
        };
        /** @description A payload for the model (W10). */
        WorkspaceContext: {
            /** @description The sections, in order. */
            sections: components["schemas"]["WorkspaceSection"][];
            /** @description What is known of the payload. */
            metadata: components["schemas"]["WorkspaceMetadata"];
            /** @description The final string. */
            serialized: string;
            /** @description The same, under the name that every recipe's result has it. */
            context: string;
            /** @description What every result shares. */
            assembly: components["schemas"]["Assembly"];
        };
        /** @description An item of a section. */
        WorkspaceItem: {
            /** @description The block. */
            blockId: string;
            /** @description Its type. */
            blockType: string;
            /** @description Its text as it is in. */
            content: string;
            /**
             * Format: double
             * @description Its score, between 0 and 1.
             */
            relevance: number;
            /** @description What else is known. */
            metadata: components["schemas"]["WorkspaceItemMetadata"];
        };
        /** @description What else is known of an item. */
        WorkspaceItemMetadata: {
            /** @description The title of what it is on, or its own. */
            pageTitle: string | null;
            /** @description The titles of what it hangs under, outermost first. */
            path: string[];
            /** @description When it last changed. */
            lastModified: string | null;
        };
        /** @description What is known of a payload. */
        WorkspaceMetadata: {
            /**
             * Format: uint32
             * @description Tokens of the final string.
             */
            totalTokens: number;
            /** @description The block that was looked at. */
            focusBlockId: string | null;
            /** @description The page that was looked at. */
            focusPageId: string | null;
            /** @description What time it was. */
            timestamp: string;
            /**
             * @description The sections whose collectors found something: `focus`, `semantic`, `relations`, `activity`,
             *     `history`.
             */
            collectorsUsed: string[];
            /**
             * Format: uint
             * @description How many blocks are in, each counted once; turns of the conversation are none.
             */
            blocksIncluded: number;
            /**
             * Format: uint
             * @description How many blocks were found that the reader can read, in or not, each counted once.
             */
            blocksConsidered: number;
        };
        /** @description A workspace's name. */
        WorkspaceName: {
            /** @description 1 to 64 of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit. */
            name: string;
        };
        /** @description What an assistant inside a workspace asks (W9). */
        WorkspaceRequest: {
            /** @description The question. */
            query: string;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /**
             * @description What the request is for: `assist`, `chat`, `search` or `automate`. It chooses the budgets
             *     of the sections when the request does not.
             */
            type?: string | null;
            /** @description Who asks: a name, or an object with `id` and `groups`. */
            user?: components["schemas"]["WorkspaceUser"] | null;
            /** @description What was said before. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description The budget: a number for all of it, or `total` and a cap for each section. */
            tokenBudget?: components["schemas"]["WorkspaceTokenBudget"] | null;
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"] | null;
            /** @description The user's groups. */
            groups?: string[];
            /** @description The subjects of the request, by the recipe's names for them. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description The current context. */
            currentContext?: string | null;
            /** @description The situation's facts. */
            situation?: {
                [key: string]: unknown;
            };
            /** @description The user's goal. */
            intent?: string | null;
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; the values of a list are alternatives. */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * Format: uint
             * @description How many items a search finds.
             */
            limit?: number | null;
            /** @description Caps of layers. */
            caps?: {
                [key: string]: number;
            };
            /** @description Reserves. */
            reserves?: {
                [key: string]: number;
            };
            /** @description The user's weights for layers; 1 is the default. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description The tokenizer. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time follow texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`; they select that ranker when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description A vector to search with in place of the query's own. */
            vector?: number[] | null;
            /** @description The receipt of the previous pack. */
            previous?: string | null;
            /** @description The current time. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment also sets the time of the facts: later facts are unknown, and validity is judged then.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether a pack may be made without a failed provider. */
            degrade?: boolean | null;
            /** @description Whether a cached pack may be returned; yes when left out. */
            cache?: boolean | null;
        };
        /** @description A section. */
        WorkspaceSection: {
            /** @description Which: `focus`, `semantic`, `relations`, `activity`, `history`. */
            type: string;
            /** @description Its title. */
            title: string;
            /** @description Its items. */
            items: components["schemas"]["WorkspaceItem"][];
            /**
             * Format: uint32
             * @description Its tokens.
             */
            tokenCount: number;
        };
        /** @description A budget. */
        WorkspaceTokenBudget: number | {
            [key: string]: number;
        };
        /** @description Who asks. */
        WorkspaceUser: string | {
            /** @description The name. */
            id: string;
            /**
             * @description The groups.
             * @default []
             */
            groups?: string[];
        };
        /** @description What is wrong with a payload (W11). */
        WorkspaceValidation: {
            /** @description Whether nothing is. */
            valid: boolean;
            /** @description What is. */
            problems: string[];
        };
        /** @description Workspaces. */
        Workspaces: {
            /** @description Those that the key may use, by name. */
            workspaces: components["schemas"]["WorkspaceName"][];
            /** @description The `after` of the next page; absent on the last one. */
            next?: string | null;
        };
        /** @description The result of a write. */
        Written: {
            /** @description The revision of the workspace after it. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description How many items, links or events were stored.
             */
            stored: number;
            /**
             * Format: uint64
             * @description How many were unchanged.
             */
            unchanged: number;
            /** @description Warnings: fields that may be misspelt, texts that are too long. */
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
