//! Stories against the whole of Belfry; see `stories/`.
