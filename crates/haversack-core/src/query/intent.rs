//! The intent of a query, by keywords (W6).

use crate::item::Kind;
use crate::units::Score;

/// The intent of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Intent {
    /// Things to be done: tasks, deadlines, reminders.
    Task,
    /// A shorter version of something.
    Summary,
    /// A place: find, list, show.
    Search,
    /// Steps towards a goal.
    HowTo,
    /// Two or more things side by side.
    Comparison,
    /// Reasons and meanings.
    Explanation,
    /// A new text or thing.
    Creation,
    /// A question of another kind.
    Question,
    /// None of these.
    Other,
}

/// Keywords by intent, the most specific first: the first matching row wins.
///
/// `^` binds words to the beginning. Rows in scripts without spaces match anywhere.
#[rustfmt::skip]
const RULES: &[(Intent, &[&str])] = &[
    (Intent::HowTo, &[
        "how to", "how do i", "how do we", "how do you", "how can i", "how can we", "how should i",
        "how would i", "steps to", "step by step", "tutorial", "guide me",
        "wie kann ich", "wie mache ich", "wie macht man", "wie kann man", "anleitung",
        "comment faire", "comment puis-je", "comment peut-on", "^comment",
        "cómo puedo", "cómo se", "^cómo", "^come posso", "^como posso",
        "如何", "怎么", "怎样", "方法を教えて", "どうやって", "^как",
    ]),
    (Intent::Comparison, &[
        "compare", "compared", "comparison", "difference between", "differences between", "vs",
        "versus", "better than", "pros and cons", "which is better",
        "vergleiche", "vergleich", "unterschied", "unterschiede",
        "comparer", "comparaison", "différence", "différences",
        "comparar", "compara", "comparación", "diferencia", "diferencias",
        "比较", "区别", "对比", "違い", "сравни", "разница",
    ]),
    (Intent::Summary, &[
        "summarize", "summarise", "summary", "summaries", "tldr", "tl dr", "recap", "overview",
        "key points", "main points", "sum up", "in a nutshell",
        "zusammenfassen", "zusammenfassung", "fasse", "überblick",
        "résume", "résumer", "résumez", "synthèse",
        "resumen", "resumir", "resume el", "resume la", "resúmeme", "riassumi", "riassunto",
        "总结", "摘要", "概括", "要約", "まとめ", "요약", "резюмируй", "итоги",
    ]),
    (Intent::Task, &[
        "todo", "todos", "to-do", "to do list", "task", "tasks", "deadline", "deadlines", "overdue",
        "due today", "due tomorrow", "due this", "due next", "due by", "due on", "remind",
        "reminder", "action item", "action items", "assigned", "backlog", "should i do",
        "aufgabe", "aufgaben", "erledigen", "frist", "tâche", "tâches", "échéance",
        "tarea", "tareas", "pendiente", "pendientes", "任务", "待办", "タスク", "할 일", "задача",
        "задачи",
    ]),
    (Intent::Explanation, &[
        "explain", "why", "what does", "what is meant", "meaning of", "how does", "how do",
        "how is", "how are", "erkläre", "erklär", "warum", "wieso", "was bedeutet", "weshalb",
        "explique", "expliquer", "expliquez", "pourquoi", "explica", "explicar", "por qué",
        "spiega", "perché", "解释", "为什么", "说明", "説明", "なぜ", "왜", "объясни", "почему",
    ]),
    (Intent::Creation, &[
        "^write", "^create", "^draft", "^generate", "^compose", "^build", "^add", "^make",
        "^implement", "^design", "write a", "write an", "write me", "create a", "create an",
        "draft a", "draft an", "generate a", "^schreibe", "^schreib", "^erstelle", "^entwirf",
        "^écris", "^écrivez", "^crée", "^rédige", "^escribe", "^crea", "^redacta", "^genera",
        "写一", "创建", "生成", "作成", "書いて", "^напиши", "^создай",
    ]),
    (Intent::Search, &[
        "find", "search", "look for", "looking for", "look up", "locate", "where is", "where are",
        "where did", "where was", "show me", "^show", "^list", "^get", "which file", "which files",
        "suche", "finde", "wo ist", "wo sind", "zeige", "zeig", "cherche", "trouve", "où est",
        "où sont", "montre", "busca", "buscar", "encuentra", "dónde", "muestra", "cerca", "trova",
        "查找", "搜索", "找到", "在哪", "探して", "検索", "どこ", "찾아", "найди", "где",
    ]),
    (Intent::Question, &[
        "^who", "^what", "^when", "^where", "^which", "^whose", "^how", "^is", "^are", "^was",
        "^were", "^do", "^does", "^did", "^can", "^could", "^should", "^will", "^would", "^has",
        "^have", "^wer", "^wann", "^welche", "^welcher", "^welches", "^wie", "^qui",
        "^que", "^quoi", "^quand", "^quel", "^quelle", "^est-ce", "^quién", "^qué", "^cuándo",
        "^cuál", "^cuánto",
    ]),
];

/// The intent of a query.
pub(super) fn classify_intent(text: &str) -> Intent {
    // Words joined by single spaces, with one at either end, so that a rule is a plain substring.
    let mut words = String::from(" ");
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric() && c != '-') {
        let word = word.trim_matches('-');
        if !word.is_empty() {
            words.push_str(word);
            words.push(' ');
        }
    }
    let mut pattern = String::new();
    let mut found = |rule: &str| {
        let anchored = rule.strip_prefix('^');
        let plain = anchored.unwrap_or(rule);
        if plain.starts_with(crate::text::terms::is_unspaced) {
            return words.contains(plain);
        }
        pattern.clear();
        pattern.extend([" ", plain, " "]);
        if anchored.is_some() { words.starts_with(&pattern) } else { words.contains(&pattern) }
    };
    let rule = RULES.iter().find(|(_, rules)| rules.iter().any(|rule| found(rule)));
    match rule {
        Some((intent, _)) => *intent,
        None if text.contains(['?', '？', '؟']) => Intent::Question,
        None => Intent::Other,
    }
}

/// How well an item's kind matches an intent (W6): 0.9 for tasks, 0.8 for pages in a summary and
/// for code in a how-to, 0.5 otherwise.
#[must_use]
pub fn intent_type_match(intent: Intent, kind: &Kind) -> Score {
    Score::unit(match (intent, kind.as_str()) {
        (Intent::Task, "todo" | "kanban_card") => 0.9,
        (Intent::Summary, "page") | (Intent::HowTo, "code") => 0.8,
        _ => 0.5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Intent) {
        assert_eq!(classify_intent(text), expected, "{text}");
    }

    #[test]
    fn w6_intents_follow_from_words() {
        check("", Intent::Other);
        check("quarterly numbers", Intent::Other);
        check("What tasks are due this week?", Intent::Task);
        check("Summarize the meeting notes", Intent::Summary);
        check("Write a summary of the tasks", Intent::Summary);
        check("How do I deploy the server?", Intent::HowTo);
        check("explain the difference between TCP and UDP", Intent::Comparison);
        check("Postgres vs. MySQL", Intent::Comparison);
        check("Why did the build fail?", Intent::Explanation);
        check("write an email to Bob", Intent::Creation);
        check("where is the contract", Intent::Search);
        check("Who signed it?", Intent::Question);
        check("signed already?", Intent::Question);
        check("delayed due to rain", Intent::Other);
        check("Fasse das Protokoll zusammen", Intent::Summary);
        check("Pourquoi le serveur est lent ?", Intent::Explanation);
        check("¿Cómo puedo instalarlo?", Intent::HowTo);
        check("如何部署服务器", Intent::HowTo);
        check("总结一下会议", Intent::Summary);
    }

    #[test]
    fn w6_types_match_intents() {
        let check = |intent, kind, expected: f64| {
            let found = intent_type_match(intent, &Kind::new(kind).unwrap()).get();
            assert!((found - expected).abs() < 1e-12, "{kind}");
        };
        check(Intent::Task, "todo", 0.9);
        check(Intent::Task, "kanban_card", 0.9);
        check(Intent::Task, "page", 0.5);
        check(Intent::Summary, "page", 0.8);
        check(Intent::HowTo, "code", 0.8);
        check(Intent::Other, "todo", 0.5);
    }

    #[test]
    fn w6_no_rule_is_listed_twice() {
        let mut rules: Vec<&str> = RULES.iter().flat_map(|(_, rules)| *rules).copied().collect();
        rules.sort_unstable();
        for pair in rules.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
