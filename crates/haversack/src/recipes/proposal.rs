//! `proposal`: layered context for one opportunity (P1 to P17).

use std::collections::BTreeMap;

use haversack_core::ids::CandidateId;
use haversack_core::units::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Assembly;
use super::assembly::WireNotice;
use crate::engine::Workspace;
use crate::error::Error;
use crate::notice::NoticeCode;
use crate::pipeline::{Assembled, LayerReport, truncated_layers};
use crate::request::OPPORTUNITY;
use crate::wire::{WireRequest, parse_id, to_tokens};

/// A request of a proposal writer. The field names of the application's own document are accepted
/// too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProposalRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct ProposalRequest {
    /// The id of the opportunity.
    pub opportunity_id: String,
    /// The task of the writer.
    pub user_prompt: String,
    /// The budget in tokens; 32,000 when left out.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::wire::deserialize_budget"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub target_budget: Option<u32>,
    /// Tokens reserved for the system prompt; 1,000 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_tokens: Option<u32>,
    /// The user's weight for each category: 1 is the default (P17).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub category_priorities: BTreeMap<String, f64>,
    /// The fields of all requests.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

impl ProposalRequest {
    /// Makes a request for a deal, with all other fields at their defaults.
    #[must_use]
    pub fn new(opportunity: &str, prompt: &str) -> ProposalRequest {
        ProposalRequest {
            opportunity_id: opportunity.to_owned(),
            user_prompt: prompt.to_owned(),
            ..ProposalRequest::default()
        }
    }

    /// Converts a request of the application into the engine's request.
    ///
    /// # Errors
    /// When a field is invalid; the error names it.
    pub fn to_request(&self) -> Result<crate::Request, Error> {
        self.to_request_for("proposal")
    }

    pub(super) fn to_request_for(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::parse_json(Value::Object(self.other.clone()))?;
        let mut request = common.to_request(recipe)?;
        if self.opportunity_id.is_empty() {
            return Err(Error::invalid("opportunityId", "is missing: name the opportunity"));
        }
        request.set_subject(OPPORTUNITY, Some(parse_id("opportunityId", &self.opportunity_id)?));
        if !self.user_prompt.is_empty() {
            request.query.clone_from(&self.user_prompt);
        }
        if request.query.is_empty() {
            return Err(Error::invalid("userPrompt", "is missing: say what is to be written"));
        }
        request.budget = self.target_budget.map(Tokens::new).or(request.budget);
        if let Some(reserve) = self.system_prompt_tokens {
            let reserve = BTreeMap::from([("system_prompt".to_owned(), reserve)]);
            request.reserves.extend(to_tokens(&reserve));
        }
        request.priorities.extend(self.category_priorities.clone());
        Ok(request)
    }
}

/// The context of a proposal (P11).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProposalContext"))]
#[serde(rename_all = "camelCase")]
pub struct ProposalContext {
    /// The company's profile, if there is one.
    pub company_profile: Option<Value>,
    /// The brand's settings, if there are any.
    pub brand_context: Option<Value>,
    /// The conversations and documents of the deal, newest first.
    pub deal_context: String,
    /// The products, most relevant first.
    pub products: Vec<Value>,
    /// The battlecards of competitors; those that the deal names come first.
    pub competitive: Vec<Value>,
    /// The sales playbooks.
    pub playbooks: Vec<Value>,
    /// The patterns of similar deals that were won.
    pub historical_patterns: Vec<Value>,
    /// The use of the budget.
    pub budget_status: BudgetStatus,
    /// The number of items that were found.
    pub retrieval_metrics: RetrievalMetrics,
    /// Notices for the user (P12).
    pub warnings: Vec<WireNotice>,
    /// The final string.
    pub context: String,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// The use of the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ProposalBudgetStatus")
)]
#[serde(rename_all = "camelCase")]
pub struct BudgetStatus {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// The budget, reserves included.
    pub budget_limit: u32,
    /// Whether the candidates need more than the budget: something was truncated, or foundational
    /// text alone is larger.
    pub is_over_budget: bool,
    /// The categories that were truncated, in the order of truncation.
    pub truncated_categories: Vec<String>,
    /// The losses of each truncated category.
    pub truncation_details: Vec<TruncationDetail>,
}

/// The losses of a truncated category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ProposalTruncationDetail")
)]
#[serde(rename_all = "camelCase")]
pub struct TruncationDetail {
    /// The name of the category.
    pub category: String,
    /// Its tokens without truncation.
    pub original_tokens: u32,
    /// Its tokens in the pack.
    pub final_tokens: u32,
    /// The number of its items that were left out.
    pub items_removed: usize,
}

/// The number of items that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ProposalRetrievalMetrics")
)]
#[serde(rename_all = "camelCase")]
pub struct RetrievalMetrics {
    /// Found items of the deal.
    pub deal_context_items: usize,
    /// Found products.
    pub products_retrieved: usize,
    /// Found battlecards.
    pub battlecards_retrieved: usize,
    /// Found playbooks.
    pub playbooks_retrieved: usize,
}

impl ProposalContext {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> ProposalContext {
        let found = |name: &str| assembled.layer(name).map_or(0, |layer| layer.candidates);
        let warnings = assembled.notices.iter();
        let warnings = warnings.filter(|notice| {
            use NoticeCode::{BudgetCapped, ContextTruncated, OverBudget, ReservesUsed};
            matches!(notice.code, ContextTruncated | OverBudget | ReservesUsed | BudgetCapped)
        });
        ProposalContext {
            company_profile: foundational_item(assembled, "companyProfile"),
            brand_context: foundational_item(assembled, "brandContext"),
            deal_context: joined_texts(assembled, "dealContext"),
            products: item_objects(assembled, "products"),
            competitive: item_objects(assembled, "competitive"),
            playbooks: item_objects(assembled, "playbooks"),
            historical_patterns: item_objects(assembled, "historicalPatterns"),
            budget_status: budget_status(assembled),
            retrieval_metrics: RetrievalMetrics {
                deal_context_items: found("dealContext"),
                products_retrieved: found("products"),
                battlecards_retrieved: found("competitive"),
                playbooks_retrieved: found("playbooks"),
            },
            warnings: warnings.map(WireNotice::from_notice).collect(),
            context: assembled.text().to_owned(),
            assembly: Assembly::from_assembled(assembled, explain),
        }
    }
}

/// The items of a section as objects: the id, the item's own fields, and its text in the pack.
fn item_objects(assembled: &Assembled, layer: &str) -> Vec<Value> {
    let Some(section) = assembled.section(layer) else { return Vec::new() };
    let entry = |item: &haversack_core::assemble::PackedItem| {
        let mut entry = item_fields(assembled, &item.id);
        entry.insert("id".into(), json!(item.id.item.as_str()));
        entry.insert("content".into(), json!(assembled.content(item)));
        entry.insert("citation".into(), json!(format!("[{}]", item.citation)));
        let score = assembled.ranked(&item.id).map_or(0.0, |ranked| ranked.score.get());
        entry.insert("relevance".into(), json!(score));
        entry.insert("reduced".into(), json!(item.shortened.is_some()));
        Value::Object(entry)
    };
    section.items.iter().map(entry).collect()
}

/// The fields of a candidate's item.
fn item_fields(assembled: &Assembled, id: &CandidateId) -> Map<String, Value> {
    assembled.fields.get(&id.item).cloned().unwrap_or_default()
}

/// The item of a foundational layer, with all fields of its kind, including those that are not set.
fn foundational_item(assembled: &Assembled, layer: &str) -> Option<Value> {
    let item = assembled.section(layer)?.items.last()?;
    let kind = &assembled.ranked(&item.id)?.candidate.kind;
    Some(Value::Object(assembled.kinds.defined(kind, &item_fields(assembled, &item.id))))
}

/// The texts of a layer, joined, without headings and labelled fields.
fn joined_texts(assembled: &Assembled, layer: &str) -> String {
    let items = assembled.section(layer).into_iter().flat_map(|section| &section.items);
    let text = |item: &haversack_core::assemble::PackedItem| {
        let mut text = assembled.content(item);
        // Further fields follow the text as lines with labels.
        if let Some(ranked) = assembled.ranked(&item.id) {
            let (kind, fields) = (&ranked.candidate.kind, item_fields(assembled, &item.id));
            let added = assembled.kinds.labelled(kind, &fields);
            let own = text.strip_suffix(&*added).map_or(text.len(), |own| own.trim_end().len());
            text.truncate(own);
        }
        text
    };
    items.map(text).collect::<Vec<String>>().join("\n\n")
}

/// The use of the budget; categories are listed in the order in which they are truncated (P4).
fn budget_status(assembled: &Assembled) -> BudgetStatus {
    let truncated = truncated_layers(&assembled.recipe, &assembled.layers);
    let detail = |report: &&LayerReport| TruncationDetail {
        category: report.name.clone(),
        original_tokens: report.wanted.get(),
        final_tokens: report.given.get(),
        items_removed: report.removed,
    };
    BudgetStatus {
        total_tokens: assembled.pack.tokens.get(),
        budget_limit: assembled.core.budget.total().get(),
        is_over_budget: !truncated.is_empty() || assembled.pack.tokens > assembled.pack.limit,
        truncated_categories: truncated.iter().map(|report| report.name.clone()).collect(),
        truncation_details: truncated.iter().map(detail).collect(),
    }
}

impl Workspace {
    /// Packs the context of a proposal.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn proposal(&self, request: &ProposalRequest) -> Result<ProposalContext, Error> {
        Ok(ProposalContext::from_assembled(&*self.pack(request.to_request()?).await?, false))
    }
}
