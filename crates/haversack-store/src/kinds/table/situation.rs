//! What guides agents and what assistants remember: contexts with rules, and memories.

use super::{
    FieldSpec, KindSpec, Role, Type, content, label, labels, moment, object, objects, one_of,
    reference, references, text,
};

pub(super) const CONTEXT: KindSpec = KindSpec::new(
    "situation",
    "context",
    "guidance for a situation, inherited from parents, with rules for what to add",
    &[
        object(
            "metadata",
            &[label("name").required().or_title().essential(), label("type").essential()],
        )
        .required()
        .or_title()
        .essential(),
        object(
            "intent_context",
            &[text("business_goal").essential(), label("intent_type").essential()],
        )
        .essential(),
        objects("behavior_rules", &[text("trigger").required(), text("action").required()]),
        objects(
            "injection_rules",
            &[
                label("name"),
                text("condition"),
                references("inject").required(),
                one_of("unsure", &["inject", "skip"]),
                FieldSpec::new("threshold", Type::Number { min: 0.0, max: 1.0 }),
            ],
        ),
        labels("adaptations"),
        reference("parent"),
        references("parents"),
    ],
)
.guidance();

pub(super) const MEMORY: KindSpec = KindSpec::new(
    "memory",
    "memory",
    "something worth remembering from a conversation",
    &[
        content("content").required(),
        label("type").hidden(),
        FieldSpec::new("confidence", Type::Number { min: 0.0, max: 1.0 }).says(Role::Confidence),
        moment("created_at").says(Role::Created),
        reference("conversation"),
        objects("relationships", &[reference("target").required(), label("type")]).hidden(),
    ],
);
