"""Right implementations in other styles than those that students see: nothing here is copied from there."""
