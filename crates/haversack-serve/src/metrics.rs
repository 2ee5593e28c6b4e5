//! The figures of the server, for Prometheus. No workspace, user, key or text is in a label: figures
//! are for whoever runs the server, who need not know its tenants (K11, P16, M12).

use std::time::Duration;

use haversack::Assembled;
use haversack_core::units::Tokens;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Borders of times, in seconds: a pack takes milliseconds, an import may take minutes.
const TIMES: [f64; 14] =
    [0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.5, 1.0, 3.0, 10.0];

/// Borders of token counts.
const TOKENS: [f64; 9] =
    [0.0, 250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 32_000.0, 128_000.0];

/// Borders of counts of candidates and items.
const COUNTS: [f64; 9] = [0.0, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0, 1_000.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    operation: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Recipe {
    recipe: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Layer {
    recipe: String,
    layer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stage {
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// All figures.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    request_time: Times<Operation>,
    assemblies: Family<Recipe, Counter>,
    assembly_time: Times<Recipe>,
    stage_time: Times<Stage>,
    tokens: Times<Recipe>,
    candidates: Times<Recipe>,
    selected: Times<Recipe>,
    truncated: Family<Layer, Counter>,
    truncated_assemblies: Family<Recipe, Counter>,
    foundational_missing: Family<Recipe, Counter>,
    budget_exceeded: Family<Recipe, Counter>,
    degraded: Family<Recipe, Counter>,
    cache_hits: Counter,
    cache_misses: Counter,
    searches: Counter,
    empty_searches: Counter,
    search_time: Histogram,
    denied: Family<Why, Counter>,
    limited: Family<Why, Counter>,
    items_written: Counter,
    pub(crate) connections: Gauge,
    pub(crate) in_flight: Gauge,
    waiting: Gauge,
}

fn times() -> Histogram {
    Histogram::new(TIMES)
}

fn token_counts() -> Histogram {
    Histogram::new(TOKENS)
}

fn counts() -> Histogram {
    Histogram::new(COUNTS)
}

impl Metrics {
    /// All figures at zero.
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("haversack"),
            requests: Family::default(),
            request_time: Times::new_with_constructor(times),
            assemblies: Family::default(),
            assembly_time: Times::new_with_constructor(times),
            stage_time: Times::new_with_constructor(times),
            tokens: Times::new_with_constructor(token_counts),
            candidates: Times::new_with_constructor(counts),
            selected: Times::new_with_constructor(counts),
            truncated: Family::default(),
            truncated_assemblies: Family::default(),
            foundational_missing: Family::default(),
            budget_exceeded: Family::default(),
            degraded: Family::default(),
            cache_hits: Counter::default(),
            cache_misses: Counter::default(),
            searches: Counter::default(),
            empty_searches: Counter::default(),
            search_time: times(),
            denied: Family::default(),
            limited: Family::default(),
            items_written: Counter::default(),
            connections: Gauge::default(),
            in_flight: Gauge::default(),
            waiting: Gauge::default(),
        };
        metrics.name_requests();
        metrics.name_assemblies();
        metrics.begin();
        metrics
    }

    /// Puts what is watched for its first time at zero: a counter that is born at one never rose.
    fn begin(&self) {
        let names = haversack::recipe::BUILT_IN.iter().map(|(name, _)| *name).chain([CUSTOM]);
        for name in names {
            let recipe = Recipe { recipe: name.to_owned() };
            for family in [
                &self.assemblies,
                &self.truncated_assemblies,
                &self.foundational_missing,
                &self.budget_exceeded,
                &self.degraded,
            ] {
                drop(family.get_or_create(&recipe));
            }
        }
    }

    fn name_requests(&mut self) {
        let registry = &mut self.registry;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The version that runs", Info::new(version));
        let requests = self.requests.clone();
        registry.register("http_requests", "Requests by operation and status", requests);
        let time = self.request_time.clone();
        registry.register("http_request_duration_seconds", "Time to answer a request", time);
        registry.register("connections", "Connections held now", self.connections.clone());
        registry.register("requests_in_flight", "Requests worked on now", self.in_flight.clone());
        registry.register("requests_waiting", "Requests that wait now", self.waiting.clone());
        registry.register("auth_denied", "Requests refused for who asked", self.denied.clone());
        let limited = self.limited.clone();
        registry.register("limited", "Requests refused for a limit", limited);
        registry.register("items_written", "Items stored", self.items_written.clone());
        registry.register("searches", "Searches", self.searches.clone());
        registry.register("searches_empty", "Searches without answer", self.empty_searches.clone());
        let time = self.search_time.clone();
        registry.register("search_duration_seconds", "Time of a search", time);
    }

    fn name_assemblies(&mut self) {
        let registry = &mut self.registry;
        registry.register("assemblies", "Packs made, by recipe", self.assemblies.clone());
        let time = self.assembly_time.clone();
        registry.register("assembly_duration_seconds", "Time of a pack, by recipe", time);
        let time = self.stage_time.clone();
        registry.register("assembly_stage_duration_seconds", "Time of a step of a pack", time);
        registry.register("assembly_tokens", "Tokens of a pack", self.tokens.clone());
        let candidates = self.candidates.clone();
        registry.register("assembly_candidates", "Candidates of a pack", candidates);
        registry.register("assembly_items", "Items in a pack", self.selected.clone());
        let truncated = self.truncated_assemblies.clone();
        registry.register("assemblies_truncated", "Packs in which room was missing", truncated);
        let truncated = self.truncated.clone();
        registry.register("layers_truncated", "Layers in which room was missing", truncated);
        let missing = self.foundational_missing.clone();
        registry.register(
            "foundational_missing",
            "Packs of which a layer that is always in had nothing",
            missing,
        );
        let exceeded = self.budget_exceeded.clone();
        registry.register("budget_exceeded", "Packs over their budget", exceeded);
        registry.register(
            "degraded",
            "Packs made without a part that failed",
            self.degraded.clone(),
        );
        registry.register("cache_hits", "Packs that were given again", self.cache_hits.clone());
        registry.register("cache_misses", "Packs that were made anew", self.cache_misses.clone());
    }

    /// A request was answered.
    pub(crate) fn answered(&self, operation: &str, status: u16, took: Duration) {
        let operation = operation.to_owned();
        self.request_time
            .get_or_create(&Operation { operation: operation.clone() })
            .observe(took.as_secs_f64());
        self.requests.get_or_create(&Request { operation, status }).inc();
    }

    /// A request was refused for who asked, or for a limit.
    pub(crate) fn refused(&self, problem: &crate::problem::Problem) {
        use crate::codes::Code;
        let reason = problem.code.row().name;
        match problem.code {
            Code::Unauthenticated | Code::Forbidden | Code::WrongHost => {
                self.denied.get_or_create(&Why { reason }).inc();
            }
            Code::TooManyDenied => {
                self.denied.get_or_create(&Why { reason }).inc();
                self.limited.get_or_create(&Why { reason }).inc();
            }
            Code::RateLimited
            | Code::Overloaded
            | Code::TooLarge
            | Code::Deadline
            | Code::SlowClient => {
                self.limited.get_or_create(&Why { reason }).inc();
            }
            _ => {}
        }
    }

    /// A pack was given, made anew or again.
    pub(crate) fn assembled(&self, assembled: &Assembled, repeated: bool) {
        if repeated {
            self.cache_hits.inc();
            return;
        }
        self.cache_misses.inc();
        let recipe = Recipe { recipe: label(assembled) };
        self.assemblies.get_or_create(&recipe).inc();
        let timings = &assembled.timings;
        self.assembly_time.get_or_create(&recipe).observe(timings.total().as_secs_f64());
        for (stage, took) in timings.steps() {
            self.stage_time.get_or_create(&Stage { stage }).observe(took.as_secs_f64());
        }
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let tokens = |tokens: Tokens| f64::from(tokens.get());
        self.tokens.get_or_create(&recipe).observe(tokens(assembled.pack.tokens));
        self.candidates.get_or_create(&recipe).observe(count(assembled.pack.ledger.len()));
        let items = assembled.layers.iter().map(|layer| layer.items).sum();
        self.selected.get_or_create(&recipe).observe(count(items));
        let mut truncated = false;
        for layer in assembled.layers.iter().filter(|layer| layer.is_truncated()) {
            truncated = true;
            let layer = Layer { recipe: recipe.recipe.clone(), layer: layer.name.clone() };
            if recipe.recipe != CUSTOM {
                self.truncated.get_or_create(&layer).inc();
            }
        }
        if truncated {
            self.truncated_assemblies.get_or_create(&recipe).inc();
        }
        if assembled.layers.iter().any(|layer| layer.pinned && layer.items == 0) {
            self.foundational_missing.get_or_create(&recipe).inc();
        }
        if assembled.pack.tokens > assembled.pack.limit {
            self.budget_exceeded.get_or_create(&recipe).inc();
        }
        if assembled.is_degraded() {
            self.degraded.get_or_create(&recipe).inc();
        }
    }

    /// A search was answered.
    pub(crate) fn searched(&self, answers: usize, took: Duration) {
        self.searches.inc();
        self.search_time.observe(took.as_secs_f64());
        if answers == 0 {
            self.empty_searches.inc();
        }
    }

    /// Items were stored.
    pub(crate) fn stored(&self, items: u64) {
        self.items_written.inc_by(items);
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn page(&self, waiting: usize) -> Result<String, std::fmt::Error> {
        self.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        let mut page = String::new();
        encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

/// What workspaces' own recipes are called: their names are the tenants' business.
const CUSTOM: &str = "custom";

fn label(assembled: &Assembled) -> String {
    let name = assembled.recipe.name.as_str();
    let built_in = haversack::recipe::BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
    if built_in { name.to_owned() } else { CUSTOM.to_owned() }
}
