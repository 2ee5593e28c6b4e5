//! Looks at the heads of workspaces: one statement at a time serves all who were waiting when it began,
//! whichever workspaces they wait for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haversack_store::store::journal::{EntryId, JournalError, JournalHead, JournalKey, Position};
use tokio::sync::oneshot;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::to_u64;
use crate::failure::{Failure, refused, repeat, unavailable};
use crate::{Core, OwnRuntime};

/// The columns that [`head_of_row`] reads.
pub(crate) const HEAD_COLUMNS: &str = "workspace, generation, head, last_id";

type Answer = Result<Option<JournalHead>, JournalError>;

/// Who waits for the next look.
#[derive(Debug, Default)]
pub(crate) struct HeadLooks(Mutex<Looks>);

#[derive(Debug, Default)]
struct Looks {
    waiting: Vec<(String, oneshot::Sender<Answer>)>,
    is_looking: bool,
}

impl HeadLooks {
    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins those who wait. Returns whether the caller must see to it that somebody looks.
    fn join(&self, workspace: String) -> (oneshot::Receiver<Answer>, bool) {
        let (sender, receiver) = oneshot::channel();
        let mut looks = self.looks();
        looks.waiting.push((workspace, sender));
        (receiver, !std::mem::replace(&mut looks.is_looking, true))
    }

    /// Those who wait now; nobody looks any more if there are none.
    fn take(&self) -> Option<Vec<(String, oneshot::Sender<Answer>)>> {
        let mut looks = self.looks();
        looks.waiting.retain(|(_, sender)| !sender.is_closed());
        looks.is_looking = !looks.waiting.is_empty();
        looks.is_looking.then(|| std::mem::take(&mut looks.waiting))
    }
}

impl Core {
    pub(crate) async fn head(self: Arc<Core>, workspace: String, runtime: &OwnRuntime) -> Answer {
        let (answer, must_look) = self.heads.join(workspace);
        if must_look {
            runtime.spawn(look_while_waited_for(self));
        }
        answer.await.unwrap_or_else(|_| Err(unavailable("the journal was closed".to_owned())))
    }

    async fn look(&self, workspaces: &[&str]) -> Result<Vec<JournalHead>, JournalError> {
        let statement =
            format!("SELECT {HEAD_COLUMNS} FROM {{s}}.workspaces WHERE workspace = ANY($1)");
        let parameters = [(&workspaces as _, Type::TEXT_ARRAY)];
        let rows = self.database.read(&statement, &parameters).await?;
        rows.iter().map(head_of_row).collect()
    }
}

async fn look_while_waited_for(core: Arc<Core>) {
    while let Some(waiting) = core.heads.take() {
        let mut names: Vec<&str> = waiting.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let found = core.look(&names).await.map(|heads| {
            let named = heads.into_iter().map(|head| (head.key.workspace.clone(), head));
            named.collect::<HashMap<String, JournalHead>>()
        });
        for (name, sender) in waiting {
            let answer = match &found {
                Ok(heads) => Ok(heads.get(&name).cloned()),
                Err(error) => Err(repeat(error)),
            };
            // Whoever does not wait any more needs no answer.
            let _ = sender.send(answer);
        }
    }
}

pub(crate) fn head_of_row(row: &Row) -> Result<JournalHead, JournalError> {
    let read = || -> Result<_, Failure> {
        let generation = id_of(row.try_get(1)?)?;
        let last = id_of(row.try_get(3)?)?;
        Ok((row.try_get::<_, String>(0)?, generation, row.try_get::<_, i64>(2)?, last))
    };
    let (workspace, generation, position, last) = read()?;
    let key = JournalKey { workspace, generation };
    Ok(JournalHead { key, position: Position::new(to_u64(position)?), last })
}

pub(crate) fn id_of(bytes: &[u8]) -> Result<EntryId, JournalError> {
    let id = bytes.try_into().map(EntryId);
    id.map_err(|_| refused(format!("an id of {} bytes in the journal", bytes.len())))
}
