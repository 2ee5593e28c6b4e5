//! Sample workspaces with questions, one for each application. `haversack demo`, examples and tests
//! use them.
//!
//! All people, companies and prices are invented. `samples/README.md` explains what each question
//! shows.

use haversack_core::units::{Timestamp, Tokens};
use haversack_store::store::Store;
use haversack_store::transfer::{ImportError, ImportReport, import};
use serde_json::{Map, Value, json};

use haversack::error::Error;
use haversack::recipe::Shape;
use haversack::recipes::parse_request;
use haversack::request::Request;

/// The time of all requests to samples: 2026-11-16T09:00:00Z, a Monday. Ages and overdue tasks
/// match `samples/README.md` only at this time.
pub const NOW: Timestamp = Timestamp::from_millis(1_794_819_600_000);

/// A sample workspace.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The recipe it is for.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// Its items, in the format of `haversack import`.
    pub text: &'static str,
    /// Its questions.
    pub questions: &'static [SampleQuestion],
    shape: Shape,
}

/// A question to a sample.
#[derive(Debug, Clone, Copy)]
pub struct SampleQuestion {
    /// The query.
    pub text: &'static str,
    /// The user who asks.
    pub user: &'static str,
    /// The groups of the user.
    pub groups: &'static [&'static str],
    /// Budgets in tokens, largest first; smaller ones show what is dropped.
    pub budgets: &'static [u32],
    /// Other fields of the request, as JSON in the recipe's own shape.
    pub with: &'static str,
}

/// The five samples, in the order of the demo.
pub const ALL: [Sample; 5] = [
    Sample {
        name: "proposal",
        title: "Fennmark Systems offers temperature monitoring to four hospitals",
        text: include_str!("../samples/proposal.jsonl"),
        questions: PROPOSAL,
        shape: Shape::Proposal,
    },
    Sample {
        name: "prime",
        title: "the shared folder of a coffee roastery in Lübeck",
        text: include_str!("../samples/prime.jsonl"),
        questions: PRIME,
        shape: Shape::Prime,
    },
    Sample {
        name: "workspace",
        title: "a city library moves into a new building",
        text: include_str!("../samples/workspace.jsonl"),
        questions: WORKSPACE,
        shape: Shape::Workspace,
    },
    Sample {
        name: "situation",
        title: "a payment provider for towns, from organisation down to one task",
        text: include_str!("../samples/situation.jsonl"),
        questions: SITUATION,
        shape: Shape::Situation,
    },
    Sample {
        name: "memory",
        title: "a year of one person's assistant",
        text: include_str!("../samples/memory.jsonl"),
        questions: MEMORY,
        shape: Shape::Memory,
    },
];

const PROPOSAL: &[SampleQuestion] = &[
    SampleQuestion {
        text: "Write the executive summary of our proposal for the hospital board",
        user: "priya",
        groups: &[],
        budgets: &[32_000, 6_000],
        with: r#"{"opportunityId": "opp-harrowmere"}"#,
    },
    SampleQuestion {
        text: "How do we answer a free first year from the other supplier?",
        user: "priya",
        groups: &[],
        budgets: &[8_000],
        with: r#"{"opportunityId": "opp-harrowmere"}"#,
    },
    SampleQuestion {
        text: "What do we offer for the dairy vans, and at what price?",
        user: "priya",
        groups: &[],
        budgets: &[8_000],
        with: r#"{"opportunityId": "opp-marlowe"}"#,
    },
];

const PRICE: &str = "What must Nightjar cost per kilo from January so that we keep our margin, and by \
                     when do we have to announce it to the cafés?";

const PRIME: &[SampleQuestion] = &[
    SampleQuestion {
        text: PRICE,
        user: "mara",
        groups: &[],
        budgets: &[4_000, 1_800],
        with: r#"{"threadId": "t-price"}"#,
    },
    SampleQuestion { text: PRICE, user: "jonas", groups: &[], budgets: &[4_000], with: "{}" },
    SampleQuestion {
        text: "Batch 1142 is scorched although the charge temperature was 205 as always. What \
               changed on the roaster?",
        user: "mara",
        groups: &[],
        budgets: &[4_000],
        with: "{}",
    },
    SampleQuestion {
        text: "What did we write in \"terms of sale\" about announcements? See \
               `customers/terms-of-sale.md`",
        user: "mara",
        groups: &[],
        budgets: &[1_500],
        with: "{}",
    },
    SampleQuestion {
        text: "Which script decides when green coffee is reordered?",
        user: "mara",
        groups: &[],
        budgets: &[2_000],
        with: "{}",
    },
    SampleQuestion {
        text: "What is the water recipe for cupping?",
        user: "mara",
        groups: &[],
        budgets: &[1_500],
        with: "{}",
    },
    SampleQuestion {
        text: "Can I still give the flights back, and who drives me?",
        user: "mara",
        groups: &[],
        budgets: &[2_000],
        with: r#"{"threadId": "t-huila"}"#,
    },
];

const OVERDUE: &str = r#"{"type": "chat", "tokenBudget": {"semantic": 2500},
    "hints": {"prioritizeTypes": ["todo", "kanban_card"]}}"#;

const WORKSPACE: &[SampleQuestion] = &[
    SampleQuestion {
        text: "What tasks are overdue?",
        user: "mara",
        groups: &[],
        budgets: &[4_000, 1_000],
        with: OVERDUE,
    },
    SampleQuestion {
        text: "What tasks are overdue?",
        user: "helena",
        groups: &["leadership"],
        budgets: &[4_000, 1_000],
        with: OVERDUE,
    },
    SampleQuestion {
        text: "Summarise this page",
        user: "mara",
        groups: &[],
        budgets: &[3_000, 800],
        with: r#"{"type": "assist", "focus": {"pageId": "p-opening"},
            "tokenBudget": {"focus": 2500}}"#,
    },
    SampleQuestion {
        text: "Break this task into subtasks",
        user: "mara",
        groups: &[],
        budgets: &[2_000],
        with: r#"{"type": "assist", "focus": {"blockId": "task-periodicals"},
            "tokenBudget": {"focus": 1200, "semantic": 500}}"#,
    },
    SampleQuestion {
        text: "Which batches are not done, and what do they wait for?",
        user: "mara",
        groups: &[],
        budgets: &[2_000],
        with: r#"{"type": "chat", "focus": {"databaseId": "db-batches"}}"#,
    },
];

const SITUATION: &[SampleQuestion] = &[
    SampleQuestion {
        text: "Prepare the repair of the weekend refunds",
        user: "katja",
        groups: &[],
        budgets: &[4_000, 1_200, 600],
        with: r#"{"currentContext": "task/refund-backfill", "threadId": "thread/pay-2291",
            "situation": {"environment": "production", "tool": "run_sql", "change_rows": 1823,
            "task": "Set refunds of citizens that are in no bank file back to approved"}}"#,
    },
    SampleQuestion {
        text: "Build the index for the town report",
        user: "katja",
        groups: &[],
        budgets: &[4_000],
        with: r#"{"currentContext": "task/ledger-index",
            "situation": {"environment": "staging", "tool": "run_migration",
            "task": "Create an index on the ledger entries by town and day"}}"#,
    },
    SampleQuestion {
        text: "Citizens cannot pay by card since eight",
        user: "katja",
        groups: &[],
        budgets: &[2_000],
        with: r#"{"currentContext": "team/payments",
            "situation": {"environment": "production", "tool": "status_page", "severity": "sev1",
            "task": "Card payments fail in all towns since 08:04"}}"#,
    },
];

const MEMORY: &[SampleQuestion] = &[
    SampleQuestion {
        text: "Six children come for lunch on Saturday: what can I cook that is safe for Lina?",
        user: "noor",
        groups: &[],
        budgets: &[500],
        with: r#"{"includeRelationships": true}"#,
    },
    SampleQuestion {
        text: "Where does Noor live now, and where does she work?",
        user: "noor",
        groups: &[],
        budgets: &[2_000, 200],
        with: r#"{"includeRelationships": true, "template": "detailed"}"#,
    },
    SampleQuestion {
        text: "Can I run a half marathon in spring after the calf injury?",
        user: "noor",
        groups: &[],
        budgets: &[300],
        with: r#"{"memoryTypes": ["event", "plan", "decision"]}"#,
    },
    SampleQuestion {
        text: "How should answers be written?",
        user: "noor",
        groups: &[],
        budgets: &[150],
        with: r#"{"memoryTypes": ["preference"]}"#,
    },
    SampleQuestion {
        text: "What was decided about the kitchen?",
        user: "noor",
        groups: &[],
        budgets: &[300],
        with: r#"{"minConfidence": 0.6}"#,
    },
];

impl Sample {
    /// The sample of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Sample> {
        ALL.into_iter().find(|sample| sample.name == name)
    }

    /// Imports the sample into a workspace. A second import changes no item but adds its events
    /// again.
    ///
    /// # Errors
    /// When the workspace cannot be written.
    pub fn load(&self, store: &dyn Store) -> Result<ImportReport, ImportError> {
        let origin = format!("sample-{}", self.name);
        import(store, &mut self.text.as_bytes(), (&origin, NOW), &mut |_| {})
    }

    /// Creates the request of a question at a budget, with the time of the samples.
    ///
    /// # Errors
    /// When the question is not valid for this sample's recipe.
    pub fn request(&self, question: &SampleQuestion, budget: u32) -> Result<Request, Error> {
        let mut fields: Map<String, Value> = serde_json::from_str(question.with)
            .map_err(|error| Error::invalid("with", error.to_string()))?;
        fields.insert("query".to_owned(), json!(question.text));
        fields.insert("user".to_owned(), json!(question.user));
        if !question.groups.is_empty() {
            fields.insert("groups".to_owned(), json!(question.groups));
        }
        let mut request = parse_request(self.name, self.shape, Value::Object(fields))?;
        request.budget = Some(Tokens::new(budget));
        request.now = Some(NOW);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use haversack_store::DataFolder;
    use haversack_store::store::maintenance::Stores;

    use super::*;

    #[test]
    fn every_sample_loads_and_every_question_is_a_valid_request() {
        let folder = tempfile::tempdir().unwrap();
        let stores = DataFolder::open(folder.path()).unwrap();
        for sample in ALL {
            let store = stores.open(sample.name, haversack::default_embedder()).unwrap();
            let store = store.for_blocking_threads();
            let loaded = sample.load(&*store).unwrap();
            assert!(
                loaded.stored > 20 && loaded.warnings.is_empty(),
                "{}: {loaded:?}",
                sample.name
            );
            assert_eq!(Sample::named(sample.name).map(|found| found.title), Some(sample.title));
            for question in sample.questions {
                for budget in question.budgets {
                    let request = sample.request(question, *budget).unwrap();
                    assert_eq!(request.recipe, sample.name);
                    assert_eq!(request.query, question.text);
                    assert_eq!(request.user.as_deref(), Some(question.user));
                }
            }
        }
    }

    #[test]
    fn the_time_of_the_samples_is_fixed() {
        assert_eq!(NOW.to_string(), "2026-11-16T09:00:00Z");
    }
}
