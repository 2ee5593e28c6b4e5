//! Metrics for Prometheus. No label holds a workspace, user, key or text: operators need not know
//! tenants (K11, P16, M12).

use std::time::Duration;

use haversack::Assembled;
use haversack_core::units::Tokens;
use haversack_provider::UsageByRole;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::model_metrics::ModelMetrics;

/// Bucket bounds of durations, in seconds.
const TIMES: [f64; 14] =
    [0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.5, 1.0, 3.0, 10.0];

/// Bucket bounds of token counts.
const TOKENS: [f64; 9] =
    [0.0, 250.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 32_000.0, 128_000.0];

/// Bucket bounds of counts of candidates and items.
const COUNTS: [f64; 9] = [0.0, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0, 1_000.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecipeLabels {
    recipe: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LayerLabels {
    recipe: String,
    layer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// All metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_time: Times<OperationLabels>,
    assemblies: Family<RecipeLabels, Counter>,
    assembly_time: Times<RecipeLabels>,
    stage_time: Times<StageLabels>,
    tokens: Times<RecipeLabels>,
    candidates: Times<RecipeLabels>,
    selected: Times<RecipeLabels>,
    truncated: Family<LayerLabels, Counter>,
    truncated_assemblies: Family<RecipeLabels, Counter>,
    foundational_missing: Family<RecipeLabels, Counter>,
    budget_exceeded: Family<RecipeLabels, Counter>,
    degraded: Family<RecipeLabels, Counter>,
    cache_hits: Counter,
    cache_misses: Counter,
    searches: Counter,
    empty_searches: Counter,
    search_time: Histogram,
    denied: Family<ReasonLabels, Counter>,
    limited: Family<ReasonLabels, Counter>,
    items_written: Counter,
    models: ModelMetrics,
    pub(crate) connections: Gauge,
    pub(crate) in_flight: Gauge,
    waiting: Gauge,
    workspaces_open: Gauge,
}

fn times() -> Histogram {
    Histogram::new(TIMES)
}

fn token_histogram() -> Histogram {
    Histogram::new(TOKENS)
}

fn count_histogram() -> Histogram {
    Histogram::new(COUNTS)
}

impl Metrics {
    /// All metrics at zero.
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("haversack"),
            requests: Family::default(),
            request_time: Times::new_with_constructor(times),
            assemblies: Family::default(),
            assembly_time: Times::new_with_constructor(times),
            stage_time: Times::new_with_constructor(times),
            tokens: Times::new_with_constructor(token_histogram),
            candidates: Times::new_with_constructor(count_histogram),
            selected: Times::new_with_constructor(count_histogram),
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
            models: ModelMetrics::default(),
            connections: Gauge::default(),
            in_flight: Gauge::default(),
            waiting: Gauge::default(),
            workspaces_open: Gauge::default(),
        };
        metrics.register_requests();
        metrics.register_assemblies();
        metrics.models.register(&mut metrics.registry);
        metrics.create_watched_counters();
        metrics
    }

    /// Creates the counters that alerts watch at zero, because a counter that starts at one never rose.
    fn create_watched_counters(&self) {
        let names = haversack::recipe::BUILT_IN.iter().map(|(name, _)| *name).chain([CUSTOM]);
        for name in names {
            let recipe = RecipeLabels { recipe: name.to_owned() };
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

    fn register_requests(&mut self) {
        let registry = &mut self.registry;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The version that runs", Info::new(version));
        let requests = self.requests.clone();
        registry.register("http_requests", "Requests by operation and status", requests);
        let time = self.request_time.clone();
        registry.register("http_request_duration_seconds", "Duration of a request", time);
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register("requests_in_flight", "Requests in flight", self.in_flight.clone());
        registry.register(
            "requests_waiting",
            "Requests waiting in the queue",
            self.waiting.clone(),
        );
        let open = self.workspaces_open.clone();
        registry.register("workspaces_open", "Workspaces that are open", open);
        registry.register(
            "auth_denied",
            "Requests refused for authentication or permission",
            self.denied.clone(),
        );
        let limited = self.limited.clone();
        registry.register("limited", "Requests refused for a limit", limited);
        registry.register("items_written", "Items stored", self.items_written.clone());
        registry.register("searches", "Searches", self.searches.clone());
        registry.register("searches_empty", "Searches without a hit", self.empty_searches.clone());
        let time = self.search_time.clone();
        registry.register("search_duration_seconds", "Duration of a search", time);
    }

    fn register_assemblies(&mut self) {
        let registry = &mut self.registry;
        registry.register("assemblies", "Packs built, by recipe", self.assemblies.clone());
        let time = self.assembly_time.clone();
        registry.register("assembly_duration_seconds", "Duration of a pack, by recipe", time);
        let time = self.stage_time.clone();
        registry.register("assembly_stage_duration_seconds", "Duration of a stage of a pack", time);
        registry.register("assembly_tokens", "Tokens of a pack", self.tokens.clone());
        let candidates = self.candidates.clone();
        registry.register("assembly_candidates", "Candidates of a pack", candidates);
        registry.register("assembly_items", "Items in a pack", self.selected.clone());
        let truncated = self.truncated_assemblies.clone();
        registry.register(
            "assemblies_truncated",
            "Packs that truncated or dropped candidates for lack of budget",
            truncated,
        );
        let truncated = self.truncated.clone();
        registry.register(
            "layers_truncated",
            "Layers that truncated or dropped candidates for lack of budget",
            truncated,
        );
        let missing = self.foundational_missing.clone();
        registry.register("foundational_missing", "Packs with an empty pinned layer", missing);
        let exceeded = self.budget_exceeded.clone();
        registry.register("budget_exceeded", "Packs over their budget", exceeded);
        registry.register("degraded", "Packs built without a failed part", self.degraded.clone());
        registry.register("cache_hits", "Packs from the cache", self.cache_hits.clone());
        registry.register("cache_misses", "Packs built anew", self.cache_misses.clone());
    }

    /// Records a response.
    pub(crate) fn note_response(&self, operation: &str, status: u16, took: Duration) {
        let operation = operation.to_owned();
        self.request_time
            .get_or_create(&OperationLabels { operation: operation.clone() })
            .observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { operation, status }).inc();
    }

    /// Records a refusal for authentication, permission or a limit.
    pub(crate) fn note_refusal(&self, problem: &crate::problem::ApiProblem) {
        use crate::codes::Code;
        let reason = problem.code.row().name;
        match problem.code {
            Code::Unauthenticated | Code::Forbidden | Code::WrongHost => {
                self.denied.get_or_create(&ReasonLabels { reason }).inc();
            }
            Code::TooManyDenied => {
                self.denied.get_or_create(&ReasonLabels { reason }).inc();
                self.limited.get_or_create(&ReasonLabels { reason }).inc();
            }
            Code::RateLimited
            | Code::Overloaded
            | Code::TooLarge
            | Code::Deadline
            | Code::SlowClient => {
                self.limited.get_or_create(&ReasonLabels { reason }).inc();
            }
            _ => {}
        }
    }

    /// Records a pack, built or from the cache.
    pub(crate) fn note_assembly(&self, assembled: &Assembled, repeated: bool) {
        if repeated {
            self.cache_hits.inc();
            return;
        }
        self.cache_misses.inc();
        let recipe = RecipeLabels { recipe: label(assembled) };
        self.assemblies.get_or_create(&recipe).inc();
        let timings = &assembled.timings;
        self.assembly_time.get_or_create(&recipe).observe(timings.total().as_secs_f64());
        for (stage, took) in timings.steps() {
            self.stage_time.get_or_create(&StageLabels { stage }).observe(took.as_secs_f64());
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
            let layer = LayerLabels { recipe: recipe.recipe.clone(), layer: layer.name.clone() };
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

    /// Records a search.
    pub(crate) fn note_search(&self, answers: usize, took: Duration) {
        self.searches.inc();
        self.search_time.observe(took.as_secs_f64());
        if answers == 0 {
            self.empty_searches.inc();
        }
    }

    /// Records stored items.
    pub(crate) fn note_stored(&self, items: u64) {
        self.items_written.inc_by(items);
    }

    /// Sets the number of open workspaces.
    pub(crate) fn note_open_workspaces(&self, open: usize) {
        self.workspaces_open.set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    /// All metrics in the OpenMetrics format.
    pub(crate) fn page(
        &self,
        waiting: usize,
        models: &UsageByRole,
    ) -> Result<String, std::fmt::Error> {
        self.models.update(models);
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
