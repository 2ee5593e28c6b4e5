//! Tests of the readers of exports, through the table.

use rusqlite::Connection;
use serde_json::json;

use crate::archive::tests::{zip_of, zip_of_bytes};
use crate::conversations::tests::{check_hostile, lines, read};
use crate::part::ReadFailure;

/// The bytes of a database that statements make.
fn database(statements: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(statements).unwrap();
    connection.serialize(rusqlite::MAIN_DB).unwrap().to_vec()
}

#[test]
fn mem0_gives_memories_of_users() {
    let export = json!({"results": [
        {"id": "m1", "memory": "Likes tea", "user_id": "anna", "agent_id": "bot", "metadata": {"topic": "food", "path": 7}, "categories": ["food"],
         "created_at": "2024-05-06T10:00:00Z", "updated_at": null, "score": 0.5, "hash": "x"},
        {"id": "m2", "memory": "", "user_id": "ben"},
        {"id": "m3", "memory": "Gone", "user_id": "ben", "is_deleted": true}
    ]});
    let outcome = read("memories.json", export.to_string().as_bytes()).unwrap();
    assert_eq!(outcome.reader, "mem0 memories");
    assert_eq!(lines(&outcome), ["memory m1 | - |  | Likes tea"]);
    assert_eq!(
        outcome.notices,
        ["1 memories; left out: 1 deleted memories, 1 memories without text; users: 1"]
    );
    let part = &outcome.parts[0];
    assert_eq!(
        serde_json::Value::Object(part.fields.clone()),
        json!({"user": "anna", "topic": "food", "original_path": 7, "agent_id": "bot", "categories": ["food"]})
    );
    assert_eq!(part.created, Some(1_714_989_600_000));
}

const HISTORY: &str = "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
    INSERT INTO history VALUES ('1', 'm1', NULL, 'Likes tea', 'ADD', '2024-05-06T10:00:00+00:00', NULL, 0, 'anna', 'user');
    INSERT INTO history VALUES ('2', 'm1', 'Likes tea', 'Likes green tea', 'UPDATE', '2024-05-06T10:00:00+00:00', '2024-06-01T00:00:00Z', 0, NULL, NULL);
    INSERT INTO history VALUES ('3', 'm2', NULL, 'Lives in Kiel', 'ADD', NULL, NULL, 0, NULL, NULL);
    INSERT INTO history VALUES ('4', 'm2', 'Lives in Kiel', NULL, 'DELETE', NULL, NULL, 1, NULL, NULL);";

#[test]
fn the_history_of_mem0_gives_the_last_state() {
    let mut bytes = database(HISTORY);
    let outcome = read("history.db", &bytes).unwrap();
    assert_eq!(outcome.reader, "mem0 history");
    assert_eq!(lines(&outcome), ["memory m1 | anna |  | Likes green tea"]);
    assert_eq!(outcome.notices, ["1 memories; left out: 1 deleted memories, 1 earlier versions"]);
    // As a program leaves it that writes to a log.
    (bytes[18], bytes[19]) = (2, 2);
    assert_eq!(lines(&read("history.db", &bytes).unwrap()).len(), 1);
    check_hostile("history.db", &bytes);
}

#[test]
fn a_view_is_not_taken_for_a_table() {
    let bytes = database("CREATE TABLE history (memory_id, old_memory, new_memory); DROP TABLE history;
        CREATE TABLE h (a); CREATE VIEW history AS SELECT 1 AS memory_id, 2 AS old_memory, 3 AS new_memory; -- create table history (");
    let mut input = std::io::Cursor::new(bytes);
    let mut source = crate::SourceFile::new("history.db", &mut input).unwrap();
    let mut take = |_| Ok(());
    let read = super::mem0::read_history(&mut source, &mut crate::PartSink::new(&mut take));
    assert!(matches!(read, Err(ReadFailure::Malformed { .. })), "{read:?}");
}

#[test]
fn chroma_gives_documents_with_their_metadata() {
    let bytes = database("CREATE TABLE \"collections\" (id TEXT, name TEXT); CREATE TABLE \"segments\" (id TEXT, type TEXT, scope TEXT, collection TEXT);
        CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB, created_at TIMESTAMP);
        CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER);
        INSERT INTO collections VALUES ('c1', 'notes'), ('c2', 'other');
        INSERT INTO segments VALUES ('s1', 't', 'METADATA', 'c1'), ('v1', 't', 'VECTOR', 'c1'), ('s2', 't', 'METADATA', 'c2');
        INSERT INTO embeddings VALUES (1, 's1', 'a', x'01', '2024-05-06 10:00:00'), (2, 's1', 'b', x'02', NULL), (3, 's2', 'a', x'03', NULL);
        INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Kiel', NULL, NULL, NULL), (1, 'n', NULL, 7, NULL, NULL), (1, 'ok', NULL, NULL, NULL, 1),
            (1, 'source', 'x/kiel.md', NULL, NULL, NULL), (2, 'only', 'vector', NULL, NULL, NULL), (3, 'chroma:document', 'Tea', NULL, NULL, NULL);");
    let outcome = read("chroma.sqlite3", &bytes).unwrap();
    assert_eq!(lines(&outcome), ["file notes:a | - | kiel.md | Kiel", "file other:a | - |  | Tea"]);
    assert_eq!(
        outcome.notices,
        [
            "2 documents; left out: 1 entries without text; collections: 2; vectors are computed again"
        ]
    );
    assert_eq!(
        serde_json::Value::Object(outcome.parts[0].fields.clone()),
        json!({"collection": "notes", "n": 7, "ok": true, "source": "x/kiel.md"})
    );
    assert_eq!(outcome.parts[0].created, Some(1_714_989_600_000));
    check_hostile("chroma.sqlite3", &bytes);
}

#[test]
fn langchain_gives_documents_in_all_forms() {
    let plain = json!({"id": "d1", "page_content": "Kiel", "metadata": {"source": "a/kiel.pdf", "page": 2}, "type": "Document"});
    let dumped = json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"], "kwargs": plain});
    let expected = ["file d1 | - | kiel.pdf, page 3 | Kiel"];
    for (name, text, reader) in [
        ("a.json", json!([plain]).to_string(), "LangChain documents"),
        ("a.json", json!([dumped]).to_string(), "LangChain documents"),
        ("a.json", dumped.to_string(), "LangChain documents"),
        ("a.jsonl", format!("{plain}\n"), "LangChain document lines"),
    ] {
        let outcome = read(name, text.as_bytes()).unwrap();
        assert_eq!(
            (outcome.reader, lines(&outcome)),
            (reader, expected.map(str::to_owned).to_vec())
        );
        assert_eq!(outcome.notices, ["1 documents"]);
        check_hostile(name, text.as_bytes());
    }
}

#[test]
fn llama_index_gives_whole_documents_or_their_nodes() {
    let node = |text: &str| json!({"__data__": {"text": text, "metadata": {"file_name": "kiel.md"}, "relationships": {"1": {"node_id": "doc"}}}, "__type__": "1"});
    let whole = json!({"__data__": {"text_resource": {"text": "Kiel is a city"}, "metadata": {}, "relationships": {}}, "__type__": "4"});
    let nodes = json!({"docstore/data": {"n1": node("Kiel"), "n2": node("is a city")}});
    let outcome = read("docstore.json", nodes.to_string().as_bytes()).unwrap();
    assert_eq!(
        lines(&outcome),
        ["file n1 | - | kiel.md | Kiel", "file n2 | - | kiel.md | is a city"]
    );
    assert_eq!(outcome.parts[0].fields["document"], "doc");
    let both = json!({"docstore/data": {"doc": whole, "n1": node("Kiel")}});
    let outcome = read("docstore.json", both.to_string().as_bytes()).unwrap();
    assert_eq!(lines(&outcome), ["file doc | - |  | Kiel is a city"]);
    assert_eq!(
        outcome.notices,
        ["1 documents; left out: 1 nodes of documents that are there as a whole"]
    );
    check_hostile("docstore.json", both.to_string().as_bytes());
}

#[test]
fn graphiti_gives_facts_with_their_validity() {
    let graph = json!({
        "nodes": [{"uuid": "a", "name": "Anna", "summary": "A cook."}, {"uuid": "k", "name": "Kiel", "summary": ""}],
        "edges": [{"uuid": "e", "fact": "Anna lives in Kiel", "name": "LIVES_IN", "source_node_uuid": "a", "target_node_uuid": "k",
            "valid_at": "2020-01-01T00:00:00Z", "invalid_at": "2024-05-06T10:00:00Z", "created_at": "2024-05-07T00:00:00Z", "fact_embedding": [0.1]}],
        "episodes": [{"uuid": "p", "name": "chat", "content": "I moved to Kiel", "valid_at": "2020-01-01T00:00:00Z"}]
    });
    let outcome = read("graph.json", graph.to_string().as_bytes()).unwrap();
    assert_eq!(
        lines(&outcome),
        [
            "memory p | - | chat | I moved to Kiel",
            "memory a | - | Anna | A cook.",
            "memory e | - |  | Anna lives in Kiel"
        ]
    );
    assert_eq!(
        serde_json::Value::Object(outcome.parts[2].fields.clone()),
        json!({"type": "fact", "validFrom": "2020-01-01T00:00:00Z", "validUntil": "2024-05-06T10:00:00Z", "subject": "Anna", "object": "Kiel", "relation": "LIVES_IN"})
    );
    assert_eq!(
        outcome.notices,
        ["1 episodes, 1 summaries of entities, 1 facts; left out: 1 entities without a summary"]
    );
    check_hostile("graph.json", graph.to_string().as_bytes());
}

#[test]
fn notion_gives_pages_and_rows() {
    let id = "0123456789abcdef0123456789abcdef";
    let zip = zip_of(&[
        (&format!("Wiki {id}.md"), "# Our wiki\n\nWelcome."),
        (&format!("Wiki/Tasks {id}.csv"), "Name,Done\nTea,Yes\n"),
        (&format!("Wiki/Tasks {id}_all.csv"), "\u{feff}Name,Done\nTea,Yes\nMilk,\n"),
        ("Wiki/picture.png", "x"),
    ]);
    let outcome = read("Export.zip", &zip).unwrap();
    assert_eq!(outcome.reader, "Notion archive");
    let bodies: Vec<String> =
        outcome.parts.iter().map(|it| format!("{} {}: {}", it.kind, it.title, it.body)).collect();
    assert_eq!(
        bodies,
        [
            "file Our wiki: # Our wiki\n\nWelcome.",
            "file Tasks: Columns: Name, Done",
            "row Tea: - Name: Tea\n- Done: Yes",
            "row Milk: - Name: Milk"
        ]
    );
    assert_eq!(
        outcome.notices,
        [
            "1 pages, 1 databases, 2 rows; left out: 1 attached files, 1 views of databases that are there as a whole"
        ]
    );
    check_hostile("Export.zip", &zip);
}

#[test]
fn notion_gives_pages_of_html_and_of_archives_in_archives() {
    let id = "0123456789abcdef0123456789abcdef";
    let page = "<html><head><title>Our wiki</title></head><body><article class=\"page sans\"><header><h1 \
        class=\"page-title\">Our wiki</h1><table class=\"properties\"><tr><th>Owner</th><td>Anna</td></tr>\
        </table></header><div class=\"page-body\"><p>Welcome.</p></div></article></body></html>";
    let inner = zip_of(&[
        (&format!("Wiki {id}.html"), page),
        (&format!("Wiki/Tasks {id}.html"), "<table><tr><td>Tea"),
        (&format!("Wiki/Tasks {id}.csv"), "Name,Done\nTea,Yes\n"),
        ("index.html", "<a href=x>Our wiki</a>"),
    ]);
    let broken = &inner[..inner.len() / 2];
    let outer =
        zip_of_bytes(&[("ExportBlock-1-Part-1.zip", &inner), ("ExportBlock-1-Part-2.zip", broken)]);
    for (zip, left) in [(&inner, ""), (&outer, "1 inner archives that are damaged, ")] {
        let outcome = read("Export.zip", zip).unwrap();
        assert_eq!(outcome.reader, "Notion archive");
        let titles: Vec<&str> = outcome.parts.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["Our wiki", "Tasks", "Tea"]);
        let body = &outcome.parts[0].body;
        assert!(body.contains("Welcome.") && body.contains("Anna"), "{body}");
        assert_eq!(
            outcome.notices,
            [format!(
                "1 pages, 1 databases, 1 rows; left out: {left}2 pages that list what is there"
            )]
        );
        check_hostile("Export.zip", zip);
    }
}

#[test]
fn snapshots_of_qdrant_say_what_to_do() {
    let mut tar = vec![0_u8; 1_024];
    tar[257..262].copy_from_slice(b"ustar");
    let failure = read("points.snapshot", &tar).unwrap_err();
    assert!(failure.to_string().contains("scroll"), "{failure}");
}
