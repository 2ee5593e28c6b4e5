//! What a proposal is written from: the company, its brand, one opportunity, and what is sold.

use super::{
    CREATED_AT, FieldSpec, IS_ACTIVE, KindSpec, UPDATED_AT, boolean, content, date, label, labels,
    one_of, open, reference, text, texts,
};

const fn kind(
    name: &'static str,
    description: &'static str,
    fields: &'static [FieldSpec],
) -> KindSpec {
    KindSpec::new("proposal", name, description, fields)
}

pub(super) const COMPANY_PROFILE: KindSpec = kind(
    "company_profile",
    "who the company is: always part of a proposal's context",
    &[
        text("summary").plain(),
        text("companyOverview"),
        text("valueProposition"),
        text("targetCustomers"),
        texts("keyDifferentiators"),
        label("industry"),
        boolean("isVerified").hidden(),
        CREATED_AT,
        UPDATED_AT,
    ],
)
.one_per_workspace()
.guidance()
.warn_above(1_000);

pub(super) const BRAND_SETTINGS: KindSpec = kind(
    "brand_settings",
    "how the company speaks: always part of a proposal's context",
    &[
        one_of("tone", &["professional", "friendly", "technical", "consultative"]),
        one_of("formality", &["formal", "casual", "conversational"]),
        texts("keyMessages"),
        one_of("contentStyle", &["benefit_focused", "feature_focused", "outcome_focused"]),
        one_of("competitivePositioning", &["premium", "value", "balanced"]),
        CREATED_AT,
        UPDATED_AT,
    ],
)
.one_per_workspace()
.guidance()
.warn_above(500);

pub(super) const OPPORTUNITY: KindSpec = kind(
    "opportunity",
    "a deal that a proposal is for",
    &[
        label("name").required().or_title(),
        label("customer"),
        text("summary").or_body(),
        labels("vertical"),
        labels("segment"),
        label("stage"),
        one_of("complexity", &["low", "medium", "high"]),
        open("value"),
        date("closeDate"),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const DEAL_CONTEXT_ITEM: KindSpec = kind(
    "deal_context_item",
    "an e-mail, call note or meeting summary of an opportunity",
    &[
        content("rawContent").required(),
        label("type"),
        reference("opportunityId"),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const PRODUCT: KindSpec = kind(
    "product",
    "something that is sold: its core is name, description and pricing",
    &[
        label("name").required().or_title().essential().mentioned(),
        texts("aliases").mentioned(),
        text("description").or_body().essential(),
        open("pricing").essential(),
        texts("features"),
        texts("benefits"),
        texts("useCases"),
        IS_ACTIVE,
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const BATTLECARD: KindSpec = kind(
    "battlecard",
    "how to win against one competitor",
    &[
        label("competitorName").required().or_title().essential().mentioned(),
        texts("aliases").mentioned(),
        texts("winThemes").essential(),
        texts("differentiators").essential(),
        texts("strengths"),
        texts("weaknesses"),
        open("objectionHandling"),
        text("competitivePositioning"),
        IS_ACTIVE,
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const PLAYBOOK: KindSpec = kind(
    "playbook",
    "how to sell in a vertical or to a segment",
    &[
        label("name").required().or_title().mentioned(),
        texts("aliases").mentioned(),
        content("content"),
        labels("vertical"),
        labels("segment"),
        texts("discoveryQuestions"),
        open("objectionHandling"),
        texts("closingStrategies"),
        IS_ACTIVE,
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const HISTORICAL_PATTERN: KindSpec = kind(
    "historical_pattern",
    "what won or lost an earlier deal",
    &[
        label("name").required().or_title(),
        content("content"),
        one_of("outcome", &["won", "lost"]),
        texts("winningStrategies"),
        labels("vertical"),
        labels("segment"),
        reference("opportunityId"),
        IS_ACTIVE,
        CREATED_AT,
        UPDATED_AT,
    ],
);
