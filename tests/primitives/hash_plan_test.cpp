// Moved to tests/plan/hash_choice_test.cpp.
