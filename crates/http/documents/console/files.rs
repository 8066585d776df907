//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CNoB4c8e.js", include_bytes!("assets/feed-CNoB4c8e.js")),
    ("assets/files-bK2P8fFP.js", include_bytes!("assets/files-bK2P8fFP.js")),
    ("assets/index-D8wJp4B7.js", include_bytes!("assets/index-D8wJp4B7.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
