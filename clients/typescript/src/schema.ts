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
         * @description What any recipe can be asked, as JSON. A recipe with a shape of its own has a request of its
         *     own as well ([`crate::recipes`]).
         */
        AnyRequest: {
            /**
             * @description The question.
             * @default
             */
            query?: string;
            /** @description Who asks; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The groups they are in. */
            groups?: string[];
            /** @description The sort of request. */
            type?: string | null;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description What it is about, by the names that the recipe gives. */
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
            /** @description What the asker wants to reach. */
            intent?: string | null;
            /** @description What was said before, oldest first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time stand behind texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description What to look for instead of the query's own vector. */
            vector?: number[] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
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
        /** @description Something that decided one pack otherwise than the other. */
        Cause: {
            /** @constant */
            cause: "request";
            /** @description Which. */
            field: string;
            /** @description What the first said; empty when nothing. */
            before: string;
            /** @description What the second said; empty when nothing. */
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
        /** @description What became otherwise of one candidate. */
        Change: {
            /** @constant */
            change: "entered";
            /** @description Why it was not: not found, or its reason. */
            before: string;
        } | {
            /** @constant */
            change: "left";
            /** @description Why it is not: not found, or its reason. */
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
        /** @description What a response used. */
        Citations: {
            /** @description Every citation, with whether the response used it. */
            citations: components["schemas"]["PrimeCitation"][];
            /** @description A block that names those that were used. */
            sources: string;
        };
        /** @description A response and the pack it was made with. */
        CitationsRequest: {
            /** @description The pack's receipt. */
            receipt: string;
            /** @description What the model wrote. */
            response: string;
        };
        /** @description A part of what a candidate showed. */
        Content: [
            number,
            number
        ] | string;
        /** @description A count. */
        Count: {
            /**
             * Format: uint32
             * @description How many.
             */
            tokens: number;
            /** @description Who counted. */
            tokenizer: string;
            /** @description How far the count can be trusted. */
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
        /** @description What differs between two packs. */
        Difference: {
            /** @description Whether the two have the same bytes. */
            same: boolean;
            /** @description What decided them differently. */
            causes: components["schemas"]["Cause"][];
            /** @description What became otherwise, by candidate. */
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
            /** @description A payload, as a build gave it. */
            payload?: components["schemas"]["PayloadText"] | null;
            /**
             * @description The model that will read it.
             * @default null
             */
            model?: string | null;
            /**
             * @description Who counts, when no model is named.
             * @default null
             */
            tokenizer?: string | null;
        };
        /** @description Something that happened to an item. */
        Event: {
            /** @description To which item. */
            item: string;
            /**
             * @description Who did it; the caller when left out.
             * @default null
             */
            user?: string | null;
            /** @description What. */
            happening: components["schemas"]["Happening"];
            /**
             * @description When; now when left out.
             * @default null
             */
            at?: components["schemas"]["Moment"] | null;
        };
        /** @description Things that happened. */
        Events: {
            /** @description What happened. */
            events: components["schemas"]["Event"][];
        };
        /** @description Whether an item helped. */
        Feedback: {
            /** @description The item. */
            contextItemId: string;
            /** @description Whether it helped. */
            useful: boolean;
            /**
             * @description Who says so; the key's user when left out.
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
        /** @description What the asker looks at (W9). */
        Focus: {
            /** @description A block. */
            blockId?: string | null;
            /** @description A page. */
            pageId?: string | null;
            /** @description A database. */
            databaseId?: string | null;
        };
        /** @description What each budget would give. */
        Frontier: {
            /** @description From the smallest budget on; those that cannot be met are left out. */
            points: components["schemas"]["FrontierPoint"][];
        };
        /** @description What one budget would give. */
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
             * @description What it is worth.
             */
            value: number;
            /**
             * Format: double
             * @description How much of all that was found is in, by value.
             */
            coverage: number;
        };
        /** @description A request and the budgets to try it at. */
        FrontierRequest: {
            /**
             * @description What the recipe is asked.
             * @default {}
             */
            request?: {
                [key: string]: unknown;
            };
            /**
             * @description The budgets; 25 from the least to the most when left out.
             * @default []
             */
            budgets?: number[];
        };
        /** @description What can happen to an item. */
        Happening: "viewed" | "edited" | "used" | "useful" | "not_useful";
        /** @description What else to consider, prefer or leave out (W9). */
        Hints: {
            /** @description Kinds that count for more. */
            prioritizeTypes?: string[];
            /** @description Only what changed in this time. */
            timeRange?: components["schemas"]["Range"] | null;
            /** @description Items that must be considered. */
            includeBlocks?: string[];
            /** @description Items that must not be in. */
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
            /** @description What sort of thing it is. */
            kind: string;
            /** @description What people call it. */
            title: string;
            /** @description Its text. */
            body: string;
            /** @description What else is known. */
            fields: {
                [key: string]: unknown;
            };
            /** @description Where it comes from. */
            path?: string | null;
            /** @description What it hangs under, if the viewer may read that. */
            parent?: string | null;
            /**
             * Format: int64
             * @description Its place among what hangs there too.
             */
            position: number;
            /** @description When it was made. */
            created?: string | null;
            /** @description When it last changed. */
            updated?: string | null;
            /**
             * Format: double
             * @description How sure its source is.
             */
            confidence?: number | null;
            /** @description Who may read it, for callers who see everything. Others who write it leave it as it is. */
            readers?: string[] | null;
            /** @description How far it can be trusted. */
            trust: string;
            /** @description Whether it is in use. */
            active: boolean;
            /**
             * @description The state that brought this version, for callers who see everything; for others a text that
             *     changes with what they see of the item.
             */
            revision: components["schemas"]["Revision"];
        };
        /** @description A page of items. */
        ItemPage: {
            /** @description The items. */
            items: components["schemas"]["Item"][];
            /** @description What to pass as `after` for the next page; left out on the last one. */
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
             * @description Which chunk of it; none when it is all of it.
             */
            chunk?: number | null;
            /** @description The layer it was found for. */
            layer: string;
            /** @description Its kind. */
            kind: string;
            /** @description Who found it, with its place in their lists. */
            found: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description Its score.
             */
            score: number;
            /** @description How the score came about: value and weight by component. */
            parts: {
                [key: string]: [
                    number,
                    number
                ];
            };
            /** @description `in`, `cut`, `essential` or `out`. */
            outcome: string;
            /** @description Why it is out, or at which budget it is whole. */
            why?: string | null;
            /** @description The same for programs: why it is out, as a code such as `over_budget` or `repeats`. */
            code?: string | null;
            /**
             * Format: uint32
             * @description The budget from which it is in whole, where a budget decides that.
             */
            wholeFrom?: number | null;
            /** @description The candidate or the layer that stands in its place. */
            instead?: string | null;
            /**
             * Format: uint32
             * @description What it costs in the pack.
             */
            tokens: number;
            /**
             * Format: uint32
             * @description What it costs whole.
             */
            tokensWhole: number;
            /** @description What was bought last before the budget kept it out. */
            displacedBy?: string | null;
            /** @description A hash of its text. */
            text?: string | null;
            /**
             * @description What stood in the pack, where that is a part of the item: bytes of its body, from and to, and
             *     what stood between them.
             */
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
            /** @description Where it starts. */
            from: string;
            /** @description Where it leads. */
            to: string;
            /** @description What it means: `link`, `relation`, `supports`, … */
            sort: string;
        };
        /** @description Links to add and to take away. */
        Links: {
            /** @description Links to add; one that is there stays. */
            add?: components["schemas"]["Link"][];
            /** @description Links to take away. */
            remove?: components["schemas"]["Link"][];
        };
        /** @description A place in the final string, with a hash of all up to there. */
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
            /** @description Who asks; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The groups they are in. */
            groups?: string[];
            /** @description The sort of request. */
            type?: string | null;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description What it is about, by the names that the recipe gives. */
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
            /** @description What the asker wants to reach. */
            intent?: string | null;
            /** @description What was said before, oldest first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"];
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
            cache?: boolean | null;
        };
        /** @description What the searches found. */
        MemoryResults: {
            /** @description For each question, in order, the memories that answer, best first. */
            results: components["schemas"]["MemorySearchResult"][][];
        };
        /** @description Searches among memories. */
        MemorySearch: {
            /** @description The questions, each with options of its own. */
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
        /** @description How a moment is written; any of these is understood. */
        Moment: string | number;
        /** @description Names. */
        Names: {
            /** @description In order. */
            names: string[];
            /** @description What to pass as `after` for the next page; left out on the last one. */
            next?: string | null;
        };
        /** @description An item to store. */
        NewItem: {
            /** @description Its name, unique in the workspace; an item of this name is replaced. */
            id: string;
            /** @description What sort of thing it is: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, … */
            kind: string;
            /**
             * @description What people call it.
             * @default
             */
            title?: string;
            /**
             * @description Its text.
             * @default
             */
            body?: string;
            /**
             * @description What else is known, by the kind's own names.
             * @default {}
             */
            fields?: {
                [key: string]: unknown;
            };
            /**
             * @description Where it comes from, such as a file's path.
             * @default null
             */
            path?: string | null;
            /**
             * @description What it hangs under.
             * @default null
             */
            parent?: string | null;
            /**
             * Format: int64
             * @description Its place among what hangs there too.
             * @default 0
             */
            position?: number;
            /**
             * @description When it was made.
             * @default null
             */
            created?: components["schemas"]["Moment"] | null;
            /**
             * @description When it last changed.
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
             * @description Who may read it: `user:anna`, `group:sales`, `everyone`. Left out, whoever may read its parent.
             * @default null
             */
            readers?: string[] | null;
            /**
             * @description Where it comes from, as far as it can be trusted: `external`, `internal` or `trusted`.
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
             * @description Whose they are; the key's user when left out. Only they can read them.
             * @default null
             */
            user?: string | null;
            /** @description The memories. */
            memories: components["schemas"]["NewMemory"][];
        };
        /** @description A memory to add. */
        NewMemory: {
            /** @description What is remembered. */
            content: string;
            /**
             * @description Its name; made from its content when left out. One that is there is replaced.
             * @default null
             */
            id?: string | null;
            /**
             * @description What sort of memory: `fact`, `preference`, `event`, …
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
             * @description When it was made; now when left out.
             * @default null
             */
            createdAt?: components["schemas"]["Moment"] | null;
        };
        /** @description That feedback was noted. */
        Noted: {
            /** @description Always true: what cannot be noted is a problem (K8). */
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
        /** @description How a state of the past is named. */
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
        /** @description The part of a payload that is counted; the rest may be there. */
        PayloadText: {
            /** @description The final string, as every recipe calls it. */
            context?: string | null;
            /** @description The same, as `workspace` calls it. */
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
             * @description The question.
             * @default
             */
            query?: string;
            /** @description Who asks; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The groups they are in. */
            groups?: string[];
            /** @description The sort of request. */
            type?: string | null;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description What it is about, by the names that the recipe gives. */
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
            /** @description What the asker wants to reach. */
            intent?: string | null;
            /** @description What was said before, oldest first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time stand behind texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description What to look for instead of the query's own vector. */
            vector?: number[] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
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
            /** @description The code again, where RFC 9457 has what tells problems apart. */
            type: string;
            /** @description A name for this sort of problem that never changes. */
            code: string;
            /** @description What it is, in general. */
            title: string;
            /**
             * Format: uint16
             * @description The status of the answer.
             */
            status: number;
            /** @description What it is in this case, and what to do. */
            detail: string;
            /** @description The detail again, under the name that errors of programs have (M11). */
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
             * @description The least budget that would do.
             */
            least?: number | null;
            /** @description The template that is not there. */
            template?: string | null;
            /** @description The names that are there, where a template or recipe is not. */
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
             * @description The question.
             * @default
             */
            query?: string;
            /** @description Who asks; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The groups they are in. */
            groups?: string[];
            /** @description The sort of request. */
            type?: string | null;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description What it is about, by the names that the recipe gives. */
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
            /** @description What the asker wants to reach. */
            intent?: string | null;
            /** @description What was said before, oldest first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time stand behind texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description What to look for instead of the query's own vector. */
            vector?: number[] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
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
        /** @description A range of time; the start is in, the end is not. */
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
        /** @description A receipt as it is kept. */
        Receipt: {
            /**
             * Format: uint32
             * @description The form it is written in.
             */
            format: number;
            /** @description Its name. */
            id: string;
            /**
             * Format: uint32
             * @description The version of packing: the same request may give other bytes by another.
             */
            packing: number;
            /** @description The recipe. */
            recipe: string;
            /** @description A hash of the recipe, templates and rankers included. */
            recipeHash: string;
            /** @description What was asked. */
            request: components["schemas"]["AnyRequest"];
            /** @description Through which principals was read; none for the owner. */
            viewer?: string[] | null;
            /** @description The state of the workspace, as it was told to whoever asked. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: int64
             * @description What time it was, in Unix milliseconds.
             */
            now: number;
            /** @description Who counted. */
            tokenizer: string;
            /** @description The model that made the query's vector. */
            embedder: string;
            /** @description The model that read the best once more, where one did. */
            reranker?: string | null;
            /**
             * Format: uint32
             * @description The budget, reserves included.
             */
            budget: number;
            /**
             * Format: uint32
             * @description What the text could have at most.
             */
            limit: number;
            /**
             * Format: uint32
             * @description What it has.
             */
            tokens: number;
            /** @description A hash of everything that decided the pack. */
            inputs: string;
            /** @description A hash of the final string. */
            text: string;
            /** @description The fences' nonce. */
            nonce?: string | null;
            /** @description Where items end in the final string, with a hash of all up to there. */
            marks: components["schemas"]["Mark"][];
            /** @description What became of each candidate: those that are in, in the order of the text, then the rest. */
            ledger: components["schemas"]["LedgerLine"][];
            /**
             * Format: uint
             * @description How many more candidates there were than are listed.
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
        /** @description What came of adding memories. */
        Remembered: {
            /** @description The state of the workspace after it. */
            revision: components["schemas"]["Revision"];
            /** @description The memories that were stored or were there exactly so. */
            stored: string[];
            /** @description Those that say nothing new, each with its reason. */
            leftOut: components["schemas"]["LeftOut"][];
        };
        /** @description A pack that was made again. */
        Replay: {
            /** @description What differs from the first one: nothing, when the bytes are the same. */
            difference: components["schemas"]["Difference"];
            /** @description The pack, in the shape of its recipe. */
            result: unknown;
        };
        /**
         * @description A state of a workspace. Those who see everything are told its number. Everybody else is told a text
         *     of their own that changes with what they can read and with nothing else: a number would count what
         *     is hidden from them.
         */
        Revision: number | string;
        /** @description What was found. */
        SearchAnswer: {
            /** @description Best first. */
            found: components["schemas"]["SearchHit"][];
            /** @description What the asker should know. */
            notices: string[];
        };
        /** @description One answer. */
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
             * @description How well it answers, from 0 to 1 when ways were fused.
             */
            score: number;
            /** @description Its place in each way's own list, from 1. */
            ranks: {
                [key: string]: number;
            };
            /** @description The item's kind. */
            kind: string;
            /** @description The item's title. */
            title: string;
            /** @description The item's path. */
            path?: string | null;
            /** @description The headings it stands under, outermost first. */
            headings: string[];
            /** @description First and last line in the item's text, from 1. */
            lines: [
                number,
                number
            ];
            /** @description The most telling stretch. */
            excerpt: string;
            /** @description Where the words of the question are in it, in bytes. */
            hits: [
                number,
                number
            ][];
        };
        /** @description What to look for. */
        SearchRequest: {
            /**
             * @description The question.
             * @default
             */
            query?: string;
            /**
             * @description For whom; whose eyes the key has when left out.
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
             * @description Only paths that start so.
             * @default null
             */
            path?: string | null;
            /**
             * @description Only this item and what hangs under it.
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
            /** @description One way alone; all together when left out. */
            way?: components["schemas"]["Way"] | null;
            /**
             * Format: uint
             * @description How many answers at most; 10 when left out.
             * @default null
             */
            limit?: number | null;
            /**
             * Format: uint
             * @description How many of them from one item; 2 when left out.
             * @default null
             */
            perItem?: number | null;
            /**
             * Format: uint
             * @description Longest excerpt in characters; 280 when left out.
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
             * @description The question.
             * @default
             */
            query?: string;
            /** @description Who asks; the owner of the data when neither user nor groups are named. */
            user?: string | null;
            /** @description The groups they are in. */
            groups?: string[];
            /** @description The sort of request. */
            type?: string | null;
            /** @description What the asker looks at. */
            focus?: components["schemas"]["Focus"] | null;
            /** @description What it is about, by the names that the recipe gives. */
            subjects?: {
                [key: string]: string;
            };
            /** @description The subject `thread`. */
            threadId?: string | null;
            /** @description The subject `opportunity`. */
            opportunityId?: string | null;
            /** @description What was said before, oldest first. */
            conversationHistory?: components["schemas"]["Turn"][];
            /** @description What else to consider, prefer or leave out. */
            hints?: components["schemas"]["Hints"];
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time stand behind texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description What to look for instead of the query's own vector. */
            vector?: number[] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
            cache?: boolean | null;
        };
        /** @description A template as a workspace keeps it, and as JSON has it. */
        Template: {
            /** @description What an answer calls it, where a request brings it along. */
            name?: string | null;
            /**
             * @description What stands before the items.
             * @default
             */
            header?: string;
            /** @description One item, with `{{content}}` and the like; `memoryFormat` means the same. */
            item: string;
            /**
             * @description What stands between two items.
             * @default
             */
            separator?: string;
            /**
             * @description What stands after the items.
             * @default
             */
            footer?: string;
            /** @description What stands there when there are no items. */
            empty?: string | null;
            /** @description Whether type, confidence and time stand behind a text when the item shows none of them. */
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
        /** @description How far a text can be trusted. */
        Trust: "external" | "internal" | "trusted";
        /** @description A turn of a conversation. */
        Turn: {
            /**
             * @description Who speaks.
             * @default
             */
            role?: string;
            /**
             * @description What was said.
             * @default
             */
            content?: string;
            /** @description When. */
            timestamp?: components["schemas"]["Moment"] | null;
        };
        /** @description A payload to check. */
        ValidateRequest: {
            /** @description The payload, as a build gave it. */
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
        /** @description A way to find. */
        Way: "text" | "vector" | "fuzzy";
        /** @description A workspace. */
        Workspace: {
            /** @description Its name. */
            name: string;
            /** @description Its state. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description How many items the viewer can read.
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
            /** @description The groups they are in. */
            groups?: string[];
            /** @description What it is about, by the names that the recipe gives. */
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
            /** @description What the asker wants to reach. */
            intent?: string | null;
            /**
             * Format: double
             * @description The least confidence.
             */
            minConfidence?: number | null;
            /** @description Only items with these fields; a list of values are alternatives. */
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
            /** @description How much layers matter to the asker. */
            priorities?: {
                [key: string]: number;
            };
            /** @description The model that will read the pack. */
            model?: string | null;
            /** @description Who counts. */
            tokenizer?: string | null;
            /** @description A template: a name, or the template itself. */
            template?: components["schemas"]["TemplateOrName"] | null;
            /** @description Whether type, confidence and time stand behind texts whose template shows none of them. */
            includeMetadata?: boolean;
            /** @description A ranker: a name, or `{"expression": "…"}`. */
            ranker?: components["schemas"]["Ranker"] | null;
            /** @description Weights of the ranker `default`, which they choose when no ranker is named. */
            rankingOptions?: components["schemas"]["RankingOptions"] | null;
            /** @description What to look for instead of the query's own vector. */
            vector?: number[] | null;
            /** @description The receipt of the pack before. */
            previous?: string | null;
            /** @description What time it is. */
            now?: components["schemas"]["Moment"] | null;
            /** @description The time zone in which dates are read, by its IANA name; UTC when left out. */
            timeZone?: string | null;
            /**
             * @description The past to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
             *     moment is also the time of the facts: what was said later is not known, and what held then holds.
             */
            asOf?: components["schemas"]["PastState"] | null;
            /** @description Whether an answer without a failed provider will do. */
            degrade?: boolean | null;
            /** @description Whether an answer that was just given may be given again; yes when left out. */
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
            /** @description Those that the key reaches, by name. */
            workspaces: components["schemas"]["WorkspaceName"][];
            /** @description What to pass as `after` for the next page; left out on the last one. */
            next?: string | null;
        };
        /** @description What came of a write. */
        Written: {
            /** @description The state of the workspace after it. */
            revision: components["schemas"]["Revision"];
            /**
             * Format: uint64
             * @description How many items, links or events were stored.
             */
            stored: number;
            /**
             * Format: uint64
             * @description How many were there already, exactly so.
             */
            unchanged: number;
            /** @description What the writer should know: fields that may be misspelt, texts that are too long. */
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
