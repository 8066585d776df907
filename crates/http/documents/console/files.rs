//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-IZcJOslZ.js", include_bytes!("assets/feed-IZcJOslZ.js")),
    ("assets/index-BE15U_jg.css", include_bytes!("assets/index-BE15U_jg.css")),
    ("assets/index-DLqy-914.js", include_bytes!("assets/index-DLqy-914.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
