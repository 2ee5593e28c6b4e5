//! Searches by a server.

use anyhow::{Context, Result};
use haversack_serve::ApiCall;
use serde_json::{Value, json};

use super::{RemoteWorkspace, text};
use crate::args::SearchArgs;
use crate::commands::search::{PER_ITEM_MAX, SearchMatch, SearchPage};

impl RemoteWorkspace {
    /// What the server finds.
    pub(crate) fn search(&self, args: &SearchArgs) -> Result<SearchPage> {
        let mut body = json!({
            "query": args.query,
            "groups": args.identity.group,
            "kinds": args.kind,
            "limit": args.limit,
            "perItem": PER_ITEM_MAX,
        });
        let way = args.way.name();
        let options =
            [("user", args.identity.user.as_deref()), ("path", args.path.as_deref()), ("way", way)];
        for (name, value) in options {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let page = self.send(ApiCall::post(&self.path(&["search"]), body))?;
        let hits = page["found"].as_array().context("the server's response has no hits")?;
        let hits: Option<Vec<SearchMatch>> = hits.iter().map(hit).collect();
        let notices = page["notices"].as_array().into_iter().flatten().filter_map(text).collect();
        Ok(SearchPage { hits: hits.context("a hit of the server cannot be read")?, notices })
    }
}

fn hit(value: &Value) -> Option<SearchMatch> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let short = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let pair = |value: &Value| Some(number(&value[0])?..number(&value[1])?);
    let ranks = value["ranks"].as_object()?.iter();
    Some(SearchMatch {
        id: text(&value["id"])?,
        chunk: short(&value["chunk"])?,
        score: value["score"].as_f64()?,
        ranks: ranks.filter_map(|(way, rank)| Some((way.clone(), number(rank)?))).collect(),
        kind: text(&value["kind"])?,
        title: text(&value["title"])?,
        path: text(&value["path"]),
        headings: value["headings"].as_array()?.iter().filter_map(text).collect(),
        lines: (short(&value["lines"][0])?, short(&value["lines"][1])?),
        pages: short(&value["pages"][0]).zip(short(&value["pages"][1])).map(<[u32; 2]>::from),
        span: None,
        updated: None,
        excerpt: text(&value["excerpt"])?,
        marked: value["hits"].as_array()?.iter().filter_map(pair).collect(),
    })
}
