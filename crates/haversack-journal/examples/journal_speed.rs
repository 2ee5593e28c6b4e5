//! How fast the journal writes and looks, beside what PostgreSQL itself does with the same rows:
//!
//! `cargo run --release -p haversack-journal --example journal_speed -- postgres://ADDRESS [SECONDS]`
//!
//! Its tables stand in the schema `journal_speed`, which it makes and leaves.
#![expect(clippy::print_stdout, reason = "the figures")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_database::Address;
use haversack_database::postgres::{PostgresAddress, connect};
use haversack_journal::{JournalSettings, PostgresJournal};
use haversack_store::store::block_on;
use haversack_store::store::journal::{Journal, JournalKey};
use tokio_postgres::types::Type;

const SCHEMA: &str = "journal_speed";

/// The size of an entry.
const BODY: usize = 10 << 10;

/// Writers of each workspace: one writes while another one waits for the lock.
const WRITERS_EACH: usize = 2;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("name the address of a PostgreSQL database")?;
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let time = Duration::from_secs(seconds);
    let Address::Postgres(address) = Address::parse(&address, None)? else {
        return Err("name a PostgreSQL database".into());
    };
    let mut settings = JournalSettings::new(address.clone()).with_schema(SCHEMA)?;
    settings.connections_max = 20;
    PostgresJournal::init(settings.clone(), None)?;
    let journal = PostgresJournal::open(settings)?;
    for workspaces in [1, 8] {
        let names: Vec<String> = (0..workspaces).map(|number| format!("w{number}")).collect();
        for name in &names {
            journal_remove_and_create(&journal, name)?;
        }
        let ours = each(workspaces * WRITERS_EACH, |writer| {
            append_for(&journal, &names[writer % workspaces], time)
        })?;
        let theirs = each(workspaces, |writer| insert_for(&address, writer, time))?;
        let rate = |count: u64| count as f64 / time.as_secs_f64();
        println!(
            "{workspaces} workspaces: {:.0} appends/s, {:.0} plain inserts/s on {workspaces} \
             connections: {:.2}",
            rate(ours),
            rate(theirs),
            rate(ours) / rate(theirs)
        );
    }
    heads(&journal, time)
}

fn journal_remove_and_create(journal: &PostgresJournal, name: &str) -> Outcome<()> {
    block_on(journal.remove(name))?;
    let key = JournalKey { workspace: name.to_owned(), generation: PostgresJournal::new_id()? };
    block_on(journal.create(&key))?;
    Ok(())
}

/// The sum of what threads count.
fn each(threads: usize, work: impl Fn(usize) -> Outcome<u64> + Sync) -> Outcome<u64> {
    std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        let counts = started.into_iter().map(|thread| thread.join().expect("it does not panic"));
        counts.sum()
    })
}

fn append_for(journal: &PostgresJournal, workspace: &str, time: Duration) -> Outcome<u64> {
    let (body, began, mut count) = (vec![7; BODY], Instant::now(), 0);
    while began.elapsed() < time {
        let lock = block_on(journal.lock(workspace, Duration::from_secs(30)))?;
        let lock = lock.ok_or("the workspace is gone")?;
        block_on(lock.append(PostgresJournal::new_id()?, body.clone()))?;
        count += 1;
    }
    Ok(count)
}

/// The same rows, each in a statement and transaction of its own.
fn insert_for(address: &PostgresAddress, writer: usize, time: Duration) -> Outcome<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let connected = connect(address, Duration::from_secs(10)).await?;
        let driver = tokio::spawn(connected.driver);
        let statement = format!(
            "INSERT INTO {SCHEMA}.entries (workspace, generation, position, id, bytes, body) \
             VALUES ($1, $2, $3, $4, $5, $6)"
        );
        let workspace = format!("plain {writer}");
        let generation = PostgresJournal::new_id()?.0.to_vec();
        let (body, began, mut count) = (vec![7_u8; BODY], Instant::now(), 0_i64);
        while began.elapsed() < time {
            let id = PostgresJournal::new_id()?.0.to_vec();
            let bytes = i64::try_from(body.len())?;
            count += 1;
            let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 6] = [
                (&workspace, Type::TEXT),
                (&generation, Type::BYTEA),
                (&count, Type::INT8),
                (&id, Type::BYTEA),
                (&bytes, Type::INT8),
                (&body, Type::BYTEA),
            ];
            connected.client.execute_typed(&statement, &parameters).await?;
        }
        drop(connected.client);
        driver.await??;
        Ok(u64::try_from(count)?)
    })
}

/// Looks by one caller, and by 64 at once.
fn heads(journal: &PostgresJournal, time: Duration) -> Outcome<()> {
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < time {
        let one = Instant::now();
        block_on(journal.head("w0"))?;
        took.push(one.elapsed());
    }
    took.sort();
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)].as_micros();
    println!("head by one caller: p50 {} µs, p95 {} µs", at(50), at(95));
    let journal = Arc::new(journal.clone());
    let looks = each(64, |_| {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < time {
            block_on(journal.head("w0"))?;
            count += 1;
        }
        Ok(count)
    })?;
    println!("heads by 64 callers: {:.0}/s", looks as f64 / time.as_secs_f64());
    Ok(())
}
