//! Stories against the whole: a world whose time can be moved, on the embedded services.
