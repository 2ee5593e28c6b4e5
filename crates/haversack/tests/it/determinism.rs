//! One request has one answer: asked by many at once, after a restart, from indexes that were made anew
//! (R23, X2).

use std::path::Path;
use std::sync::Arc;

use haversack::{Engine, Request, Workspace};

use crate::recording::OpenRecorded as _;
use crate::support::{import_sample, now, pack, user_request};

/// Packs of one request, and how many are made at once.
const PACKS: usize = 1_000;
const AT_ONCE: usize = 16;

fn open(folder: &Path) -> (Engine, Workspace) {
    let engine = Engine::builder().clock(now).open_recorded(folder).unwrap();
    let workspace = engine.workspace("test").unwrap();
    (engine, workspace)
}

/// A request that is not answered from the cache.
fn request(recipe: &str) -> Request {
    let mut request =
        user_request(recipe, "Where does Noor live, and what does she drink?", "noor");
    request.cache = false;
    request
}

/// All that is told about a pack, but for how long it took.
async fn answer(workspace: &Workspace, recipe: &str) -> String {
    let assembled = pack(workspace, request(recipe)).await;
    let mut result = haversack::recipes::result_json(&assembled, true);
    result["assembly"].as_object_mut().unwrap().remove("timingsMs");
    result.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_packs_at_once_are_the_same_bytes_r23() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, workspace) = open(folder.path());
    import_sample(&workspace, "memory");
    let expected = Arc::new(answer(&workspace, "memory").await);
    assert!(expected.contains("Noor"), "{expected}");
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|task| {
            let (workspace, expected) = (workspace.clone(), Arc::clone(&expected));
            tokio::spawn(async move {
                for number in 0..PACKS.div_ceil(AT_ONCE) {
                    let answer = answer(&workspace, "memory").await;
                    assert!(answer == *expected, "task {task}, pack {number}: {answer}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    workspace.flush().await;
    drop((workspace, engine));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_and_rebuilt_indexes_change_no_byte_r23() {
    let folder = tempfile::tempdir().unwrap();
    let recipes = ["memory", "everything", "prime", "workspace"];
    let answers = async || {
        let (engine, workspace) = open(folder.path());
        let mut answers = Vec::new();
        for recipe in recipes {
            answers.push(answer(&workspace, recipe).await);
            workspace.flush().await;
        }
        drop((workspace, engine));
        answers
    };
    {
        let (_engine, workspace) = open(folder.path());
        import_sample(&workspace, "memory");
    }
    let expected = answers().await;
    assert_eq!(answers().await, expected, "after a restart");
    for part in ["text", "vectors"] {
        std::fs::remove_dir_all(folder.path().join("workspaces/test").join(part)).unwrap();
        assert_eq!(answers().await, expected, "without {part}");
    }
}
