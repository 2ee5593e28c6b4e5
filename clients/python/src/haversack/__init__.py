"""Client for Haversack: context for language models, inside an exact token budget.

`Haversack` waits, `AsyncHaversack` awaits; both have the same methods.
"""

from ._async import AsyncHaversack, AsyncWorkspace
from ._sync import Haversack, Workspace
from ._wire import DEFAULT_URL, ResultEvent, StageEvent, StreamEvent, WarningEvent
from .errors import (
    BudgetTooSmall,
    Conflict,
    DeadlineExceeded,
    EmbeddingError,
    Forbidden,
    HaversackError,
    ModelError,
    NotFound,
    Overloaded,
    RateLimited,
    SearchError,
    StorageError,
    TemplateNotFound,
    TooLarge,
    Unauthenticated,
    Unreachable,
    ValidationError,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_URL",
    "AsyncHaversack",
    "AsyncWorkspace",
    "BudgetTooSmall",
    "Conflict",
    "DeadlineExceeded",
    "EmbeddingError",
    "Forbidden",
    "Haversack",
    "HaversackError",
    "ModelError",
    "NotFound",
    "Overloaded",
    "RateLimited",
    "ResultEvent",
    "SearchError",
    "StageEvent",
    "StorageError",
    "StreamEvent",
    "TemplateNotFound",
    "TooLarge",
    "Unauthenticated",
    "Unreachable",
    "ValidationError",
    "WarningEvent",
    "Workspace",
    "__version__",
]
