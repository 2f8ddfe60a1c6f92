// Package whole has the tests of what no single package promises: the whole chain, the pages
// and the structure of the sources. They run in the root of the module.
package whole
