//! A conversation of many turns: how much of the text is unchanged from pack to pack, and how much
//! evidence that costs.

use std::collections::BTreeMap;
use std::path::Path;

use haversack::{Engine, Request};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use serde_json::Value;

use crate::NOW;
use crate::measure::ReportTable;

/// Turns of the conversation.
const TURNS: usize = 36;

/// Packs the queries of a labelled set in sequence, each with the receipt of the previous pack, and
/// again without.
pub(crate) async fn run(folder: &Path, table: &mut ReportTable) {
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(name)).expect("the file is there");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut relevant: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let qrels = std::fs::read_to_string(folder.join("qrels.tsv")).expect("the file is there");
    for line in qrels.lines() {
        let mut cells = line.split('\t').map(str::to_owned);
        if let (Some(query), Some(document)) = (cells.next(), cells.next()) {
            relevant.entry(query).or_default().push(document);
        }
    }
    let store = tempfile::tempdir().expect("a folder for the store");
    let engine = Engine::builder().clock(|| NOW).open(store.path()).expect("it opens");
    let workspace = engine.workspace("turns").expect("a workspace opens");
    let kind = Kind::new("memory").expect("a kind");
    let corpus = lines("corpus.jsonl");
    let items = corpus.iter().map(|line| {
        let id = ItemId::new(&text(line, "id")).expect("an id");
        Item::new(id, kind.clone(), &text(line, "text"))
    });
    for batch in items.collect::<Vec<Item>>().chunks(1_000) {
        workspace.put(batch.to_vec()).await.expect("a batch is written");
    }
    let queries = lines("queries.jsonl");
    let asked: Vec<&Value> = queries
        .iter()
        .filter(|query| relevant.contains_key(&text(query, "id")))
        .take(TURNS)
        .collect();
    for budget in [2_000, 4_000, 8_000] {
        let (mut kept, mut with, mut without) = (0.0, 0.0, 0.0);
        let mut previous = None;
        for query in &asked {
            let mut request = Request::new("memory", &text(query, "text")).within(budget);
            request.limit = Some(100);
            request.cache = false;
            let wanted = &relevant[&text(query, "id")];
            let plain = workspace.pack(request.clone()).await.expect("a pack is made");
            without += recall(&plain, wanted);
            request.previous = previous.take();
            let pack = workspace.pack(request).await.expect("a pack is made");
            with += recall(&pack, wanted);
            let bytes = pack.text().len().max(1) as f64;
            kept += pack.delta.as_ref().map_or(0.0, |delta| delta.kept_bytes as f64 / bytes);
            previous = Some(pack.receipt());
        }
        let turns = asked.len().max(1) as f64;
        let name = |what: &str| format!("{TURNS} turns at {budget} tokens: {what}");
        table.row(0, &name("bytes kept at the beginning, %"), kept / (turns - 1.0) * 100.0);
        table.row(0, &name("evidence with the pack before, %"), with / turns * 100.0);
        table.row(0, &name("evidence without, %"), without / turns * 100.0);
    }
}

fn recall(pack: &haversack::Assembled, wanted: &[String]) -> f64 {
    let is_in = |document: &&String| {
        pack.pack.citations.iter().any(|citation| citation.candidate.item.as_str() == **document)
    };
    wanted.iter().filter(is_in).count() as f64 / wanted.len().max(1) as f64
}
