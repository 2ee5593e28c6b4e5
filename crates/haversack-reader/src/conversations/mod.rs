//! Conversations: chats with assistants and between people, as threads with their messages.

pub(crate) mod chatgpt;
pub(crate) mod claude;
pub(crate) mod claude_code;
pub(crate) mod discord;
pub(crate) mod json;
pub(crate) mod slack;
pub(crate) mod subtitles;
pub(crate) mod telegram;
pub(crate) mod transcript;
pub(crate) mod turn;
pub(crate) mod whatsapp;
pub(crate) mod when;

#[cfg(test)]
pub(crate) mod tests;
