//! The sources of a crate as the compiler sees them: modules that belong to it, without comments,
//! documentation and tests.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, File, ImplItem, Item, Meta, Stmt};

use crate::Error;

/// Path and tokens of each file of the crate in `folder`, from `src/lib.rs` (or `main.rs`) on, in
/// order of the modules, and of its build script if it has one.
pub(crate) fn of(folder: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut files = Vec::new();
    let root = ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name));
    let root = root.iter().find(|path| path.exists()).unwrap_or(&root[0]);
    let place = ModuleFile { folder, file: root.clone(), children: folder.join("src") };
    place.collect(&mut files)?;
    let script = folder.join("build.rs");
    if script.exists() {
        ModuleFile { folder, file: script, children: folder.to_owned() }.collect(&mut files)?;
    }
    Ok(files)
}

/// The same of one module of the crate and those below it.
pub(crate) fn of_module(folder: &Path, name: &str) -> Result<Vec<(String, String)>, Error> {
    let mut files = Vec::new();
    ModuleFile::of(folder, &folder.join("src"), name).collect(&mut files)?;
    Ok(files)
}

/// A file of a crate, and where the files of its modules lie.
struct ModuleFile<'a> {
    folder: &'a Path,
    file: PathBuf,
    children: PathBuf,
}

impl<'a> ModuleFile<'a> {
    /// The file of a module whose file lies in `above`.
    fn of(folder: &'a Path, above: &Path, name: &str) -> ModuleFile<'a> {
        let flat = above.join(format!("{name}.rs"));
        let children = above.join(name);
        let file = if flat.exists() { flat } else { children.join("mod.rs") };
        ModuleFile { folder, file, children }
    }

    fn collect(&self, files: &mut Vec<(String, String)>) -> Result<(), Error> {
        let text = fs::read_to_string(&self.file).map_err(|error| Error::new(&self.file, error))?;
        let mut parsed: File =
            syn::parse_file(&text).map_err(|error| Error::new(&self.file, error))?;
        Bare.visit_file_mut(&mut parsed);
        let relative = self.file.strip_prefix(self.folder).unwrap_or(&self.file);
        let name = relative.to_string_lossy().replace('\\', "/");
        files.push((name, parsed.to_token_stream().to_string()));
        self.modules(&parsed.items, &self.children, files)
    }

    /// The files of the modules among `items`, whose files lie in `folder`.
    fn modules(
        &self,
        items: &[Item],
        folder: &Path,
        files: &mut Vec<(String, String)>,
    ) -> Result<(), Error> {
        for item in items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            if let Some((_, inner)) = &module.content {
                self.modules(inner, &folder.join(&name), files)?;
                continue;
            }
            if module.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
                return Err(Error::new(
                    &self.file,
                    format!("module {name}: #[path] is not followed"),
                ));
            }
            ModuleFile::of(self.folder, folder, &name).collect(files)?;
        }
        Ok(())
    }
}

/// Takes documentation and tests out. Ordinary comments are gone after parsing.
struct Bare;

impl VisitMut for Bare {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    }

    fn visit_file_mut(&mut self, file: &mut File) {
        file.shebang = None;
        file.items.retain(|item| !is_test(item_attributes(item)));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_test(item_attributes(item)));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| match item {
            ImplItem::Fn(item) => !is_test(&item.attrs),
            ImplItem::Const(item) => !is_test(&item.attrs),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| match statement {
            Stmt::Item(item) => !is_test(item_attributes(item)),
            _ => true,
        });
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_macro_mut(&mut self, invocation: &mut syn::Macro) {
        invocation.tokens = undocumented(std::mem::take(&mut invocation.tokens));
    }
}

/// What a macro is given, which is not parsed, without the documentation in it: `#[doc = …]`, as
/// `///` reaches a macro.
fn undocumented(tokens: TokenStream) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let begins = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '#');
        if begins && rest.next_if(is_documentation).is_some() {
            continue;
        }
        kept.extend([match token {
            TokenTree::Group(group) => {
                Group::new(group.delimiter(), undocumented(group.stream())).into()
            }
            other => other,
        }]);
    }
    kept
}

/// Whether it is `[doc …]`.
fn is_documentation(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

/// Whether something is compiled for tests only: `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
