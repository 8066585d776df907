//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-D7BynSr4.js", include_bytes!("assets/feed-D7BynSr4.js")),
    ("assets/index-CQlcNUJM.css", include_bytes!("assets/index-CQlcNUJM.css")),
    ("assets/index-OoKxiuF_.js", include_bytes!("assets/index-OoKxiuF_.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
